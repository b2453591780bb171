import { beforeAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { ENDPOINTS } from "../../src/rest/v1/endpoints.ts";
import { asText, bothAnswers, type Caller, differences, findingsOf, send } from "./fixtures/isolation-findings.ts";
import { type Call, NoValueError, ownCalls, trialsOf } from "./fixtures/isolation-requests.ts";
import { changesAtB, isolationWorld, leaksIn, withReusableLoans, type World } from "./fixtures/isolation-world.ts";

const document = openApiDocument();
let world: World;
let asA: Caller;

beforeAll(async () => {
  world = await isolationWorld();
  asA = { url: world.service.url, key: world.a.key };
});

test("every REST route gives the same answer for another lender's ids as for ids that do not exist, and changes nothing", async () => {
  const changes = await changesAtB(world, async () => {
    for (const trial of trialsOf(ENDPOINTS, document, world)) {
      expect(await findingsOf(world, asA, trial), `${trial.title} ${JSON.stringify(trial.foreign)}`).toEqual([]);
    }
  });
  expect(changes).toEqual([]);
});

test("every REST route succeeds for a lender's own ids, and shows no data of another lender", async () => {
  const accepted = new Set<string>();
  const changes = await changesAtB(world, async () => {
    for (const { endpoint, call } of ownCalls(ENDPOINTS, document, world)) {
      const answer = await send(asA, call);
      if (answer.status < 300) accepted.add(endpoint);
      // Lender A's own payments may contain lender B's link id, because A sent it in confirmations of the test above.
      const sent = endpoint === "payments-list" ? [world.b.linkId] : [];
      expect(leaksIn(world, asText(answer), sent), `${endpoint} ${JSON.stringify(call)}`).toEqual([]);
    }
  });
  expect(accepted).toEqual(new Set(ENDPOINTS.map(({ name }) => name)));
  expect(changes).toEqual([]);
});

describe("a REST request without a valid key of the caller", () => {
  test.each<[string, number, (world: World) => Caller["key"], null?]>([
    ["another lender's key with the caller's secret", 401, ({ a, b }) => ({ ...b.key, hmacSecret: a.key.hmacSecret })],
    ["the caller's key with another lender's secret", 401, ({ a, b }) => ({ ...a.key, hmacSecret: b.key.hmacSecret })],
    ["a revoked key", 401, ({ a }) => a.revokedKey],
    ["a retired key", 401, ({ a }) => a.retiredKey],
    ["an unknown key", 401, ({ a }) => ({ ...a.key, apiKeyId: `lk_${"0".repeat(32)}` })],
    ["the caller's key without a signature", 401, ({ a }) => a.key, null],
    ["another lender's key without a signature", 401, ({ b }) => b.key, null],
  ])("shows and changes nothing on any route: %s", async (_, status, keyOf, signature) => {
    const caller = { ...asA, key: keyOf(world) };
    // The signature debugger needs no signature. It answers for any key, and shows nothing about the key's lender.
    const needsNone = new Set(ENDPOINTS.flatMap(({ name, signed }): string[] => (signed === false ? [name] : [])));
    const changes = await changesAtB(world, async () => {
      for (const { endpoint, call } of eachOnce()) {
        const answer = await send(caller, call, signature);
        const sentTexts = [call.path, JSON.stringify(call.body ?? ""), caller.key.apiKeyId];
        const sent = [
          ...sentTexts,
          ...Object.values(call.headers),
          ...valuesIn(call.body),
          ...call.path.split(/[/=&?]/),
        ];
        expect(needsNone.has(endpoint) || answer.status === status, `${endpoint} ${answer.rawBody}`).toBe(true);
        expect(leaksIn(world, asText(answer), sent), `${endpoint} ${answer.rawBody}`).toEqual([]);
      }
    });
    expect(changes).toEqual([]);
  });
});

test("a diagnosis does not distinguish another lender's secret from an unknown one", async () => {
  const [call] = ownCalls(ENDPOINTS, document, withReusableLoans(world)).map((own) => own.call);
  const answers = [world.b.key.hmacSecret, "0".repeat(64)].map(async (hmacSecret) => {
    const { status, body } = await send({ ...asA, key: { ...world.a.key, hmacSecret } }, call!);
    return { status, code: body["code"], diagnosis: body["diagnosis"] };
  });
  const [foreign, missing] = await Promise.all(answers);
  expect(foreign).toEqual(missing);
});

// This test must be the last one, because it changes lender B's data.
test("the owner gets different answers for an existing and a missing value, for every parameter and field that the isolation matrix tries", async () => {
  const asB = { ...asA, key: world.b.key };
  const differing = new Map<string, boolean>();
  for (const trial of trialsOf(ENDPOINTS, document, world)) {
    const [foreign, missing] = await bothAnswers(asB, trial);
    differing.set(trial.title, differing.get(trial.title) || differences(foreign, missing, trial).length > 0);
  }
  const withoutDifference = [...differing].flatMap(([title, isDifferent]) => (isDifferent ? [] : [title]));
  expect(
    withoutDifference,
    "the answer is the same whether the value exists or not, so these parameters and fields prove nothing: change their values in isolation-values.ts",
  ).toEqual([]);
});

test("a parameter without values makes the isolation matrix fail with advice", () => {
  const [health] = ENDPOINTS;
  const grown = { ...health!, path: `${health!.path}/{colleague}` };
  const paths = { [`/api/v1/partner/health/{colleague}`]: document.paths["/api/v1/partner/health"]! };
  const trials = () => trialsOf([grown], { ...document, paths }, withReusableLoans(world));
  expect(trials).toThrow(NoValueError);
  expect(trials).toThrow('Add "path.colleague" to VALUES in tests/isolation/fixtures/isolation-values.ts');
});

test("a body field without values makes the isolation matrix fail with advice", () => {
  const schemas = structuredClone(document.components["schemas"]!) as Record<string, { properties: object }>;
  Object.assign(schemas["PaymentConfirmation"]!.properties, { caseId: { type: "string" } });
  const grown = { ...document, components: { ...document.components, schemas } };
  expect(() => trialsOf(ENDPOINTS, grown, withReusableLoans(world))).toThrow(
    "no value for PaymentConfirmation.caseId of POST /api",
  );
});

/**
 * Returns, for each route, one request with only lender A's own values, and one request for each parameter or field
 * that can have a value of lender B.
 */
function eachOnce(): { endpoint: string; call: Call }[] {
  const still = withReusableLoans(world);
  const own = ownCalls(ENDPOINTS, document, still).map((one) => ({ ...one, title: one.endpoint }));
  const foreign = trialsOf(ENDPOINTS, document, still).map((trial) => ({ ...trial, call: trial.foreign }));
  return [...new Map([...own, ...foreign].map((one) => [one.title, one])).values()];
}

/** Returns every string in a body. */
function valuesIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(valuesIn) : [];
}
