import { beforeAll, describe, expect, test, vi } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { ENDPOINTS } from "../../src/rest/v1/endpoints.ts";
import { asText, bothAnswers, type Caller, differences, findingsOf, send } from "./fixtures/isolation-findings.ts";
import { type Call, NoValueError, ownCalls, trialsOf } from "./fixtures/isolation-requests.ts";
import { changesAtB, isolationWorld, leaksIn, usedUpNowhere, type World } from "./fixtures/isolation-world.ts";

// It takes seconds, and much longer on a machine that does much else.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const document = openApiDocument();
let world: World;
let asA: Caller;

beforeAll(async () => {
  world = await isolationWorld();
  asA = { url: world.service.url, key: world.a.key };
});

test("another lender's ids are to a lender what ids of nothing are, and what they name stays as it is", async () => {
  const changes = await changesAtB(world, async () => {
    for (const trial of trialsOf(ENDPOINTS, document, world)) {
      expect(await findingsOf(world, asA, trial), `${trial.title} ${JSON.stringify(trial.theirs)}`).toEqual([]);
    }
  });
  expect(changes).toEqual([]);
});

test("with one's own ids one is answered by every route, and finds nothing of another lender's", async () => {
  const accepted = new Set<string>();
  const changes = await changesAtB(world, async () => {
    for (const { endpoint, call } of ownCalls(ENDPOINTS, document, world)) {
      const answer = await send(asA, call);
      if (answer.status < 300) accepted.add(endpoint);
      expect(leaksIn(world, asText(answer)), `${endpoint} ${JSON.stringify(call)}`).toEqual([]);
    }
  });
  expect(accepted).toEqual(new Set(ENDPOINTS.map(({ name }) => name)));
  expect(changes).toEqual([]);
});

describe("signed by what is not a key of the caller's,", () => {
  test.each<[string, number, (world: World) => Caller["key"], null?]>([
    ["another lender's key with one's own secret", 401, ({ a, b }) => ({ ...b.key, hmacSecret: a.key.hmacSecret })],
    ["one's own key with another lender's secret", 401, ({ a, b }) => ({ ...a.key, hmacSecret: b.key.hmacSecret })],
    ["a revoked key", 401, ({ a }) => a.revokedKey],
    ["a retired key", 401, ({ a }) => a.retiredKey],
    ["a key that nobody has", 401, ({ a }) => ({ ...a.key, apiKeyId: `lk_${"0".repeat(32)}` })],
    ["one's own key without a signature", 401, ({ a }) => a.key, null],
    ["another lender's key without a signature", 401, ({ b }) => b.key, null],
  ])("%s, no route tells or does anything", async (_, status, keyOf, signature) => {
    const caller = { ...asA, key: keyOf(world) };
    // Who names a key is answered by the debugger, which tells nothing of what the key is of.
    const needsNone = new Set(ENDPOINTS.flatMap(({ name, signed }): string[] => (signed === false ? [name] : [])));
    const changes = await changesAtB(world, async () => {
      for (const { endpoint, call } of eachOnce()) {
        const answer = await send(caller, call, signature);
        const said = [call.path, JSON.stringify(call.body ?? ""), caller.key.apiKeyId];
        const sent = [...said, ...Object.values(call.headers), ...valuesIn(call.body), ...call.path.split(/[/=&?]/)];
        expect(needsNone.has(endpoint) || answer.status === status, `${endpoint} ${answer.rawBody}`).toBe(true);
        expect(leaksIn(world, asText(answer), sent), `${endpoint} ${answer.rawBody}`).toEqual([]);
      }
    });
    expect(changes).toEqual([]);
  });
});

test("a secret of another lender's is to the caller's key no other than one that nobody has", async () => {
  const [call] = ownCalls(ENDPOINTS, document, usedUpNowhere(world)).map((own) => own.call);
  const answers = [world.b.key.hmacSecret, "0".repeat(64)].map(async (hmacSecret) => {
    const { status, body } = await send({ ...asA, key: { ...world.a.key, hmacSecret } }, call!);
    return { status, code: body["code"], diagnosis: body["diagnosis"] };
  });
  const [theirs, nobodys] = await Promise.all(answers);
  expect(theirs).toEqual(nobodys);
});

// The last one: it changes what is B's.
test("at each place that is tried, what is theirs tells its owner something", async () => {
  const asB = { ...asA, key: world.b.key };
  const told = new Map<string, boolean>();
  for (const trial of trialsOf(ENDPOINTS, document, world)) {
    const [theirs, nobodys] = await bothAnswers(asB, trial);
    told.set(trial.title, told.get(trial.title) || differences(theirs, nobodys, trial).length > 0);
  }
  const silent = [...told].flatMap(([title, isTold]) => (isTold ? [] : [title]));
  expect(silent, "there is nothing to find out at these places: give them values in isolation-values.ts").toEqual([]);
});

test("a parameter that nobody has thought of stops the matrix, and is told where to go", () => {
  const [health] = ENDPOINTS;
  const grown = { ...health!, path: `${health!.path}/{colleague}` };
  const paths = { [`/api/v1/partner/health/{colleague}`]: document.paths["/api/v1/partner/health"]! };
  const trials = () => trialsOf([grown], { ...document, paths }, usedUpNowhere(world));
  expect(trials).toThrow(NoValueError);
  expect(trials).toThrow('Add "path.colleague" to VALUES in tests/isolation/fixtures/isolation-values.ts');
});

test("a field of a body that nobody has thought of stops the matrix as well", () => {
  const schemas = structuredClone(document.components["schemas"]!) as Record<string, { properties: object }>;
  Object.assign(schemas["PaymentConfirmation"]!.properties, { caseId: { type: "string" } });
  const grown = { ...document, components: { ...document.components, schemas } };
  expect(() => trialsOf(ENDPOINTS, grown, usedUpNowhere(world))).toThrow(
    "no value for PaymentConfirmation.caseId of POST /api",
  );
});

/** Of each route one request about one's own and, for each place that names something, one about what is B's. */
function eachOnce(): { endpoint: string; call: Call }[] {
  const still = usedUpNowhere(world);
  const own = ownCalls(ENDPOINTS, document, still).map((one) => ({ ...one, title: one.endpoint }));
  const theirs = trialsOf(ENDPOINTS, document, still).map((trial) => ({ ...trial, call: trial.theirs }));
  return [...new Map([...own, ...theirs].map((one) => [one.title, one])).values()];
}

/** Every text in a body. */
function valuesIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(valuesIn) : [];
}
