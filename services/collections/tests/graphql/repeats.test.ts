import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { getNamedType, type GraphQLNamedOutputType, isLeafType, isObjectType, isUnionType } from "graphql";
import { beforeAll, describe, expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Selected } from "../fixtures/graphql-client.ts";
import {
  type AcceptedRequest,
  MUTATION_STORIES,
  type RejectedRequest,
  type StoryRequest,
} from "./fixtures/mutation-stories.ts";
import { startSmsGateway } from "../fixtures/sms-gateway.ts";
import { allRows } from "../fixtures/table-rows.ts";

const MUTATIONS = Object.keys(schema.getMutationType()!.getFields());
const AT_ONCE = 8;

interface Prepared {
  /**
   * Three requests of the mutation. `single` is sent once, `concurrent` several times at once, and `slow` again while
   * the first attempt is running.
   */
  readonly single: AcceptedRequest;
  readonly concurrent: AcceptedRequest;
  readonly slow: AcceptedRequest;
  /** A request of another field partner. */
  readonly stranger: AcceptedRequest;
  readonly rejected: RejectedRequest | undefined;
  readonly key: string;
}

let service: TestService;
let setup: VisitSetup;
const prepared: Record<string, Prepared> = {};
const answers: Record<string, Selected> = {};

beforeAll(async () => {
  const gateway = await startSmsGateway();
  const settings = { ENVIRONMENT: "live", OTP_SMS_URL: gateway.url, OTP_SMS_HEADER: "Authorization: Key x" };
  service = await startTestService({ settings });
  const [context, otherContext] = [await aContext(), await aContext()];
  setup = context.setup;
  for (const [name, story] of Object.entries(MUTATION_STORIES)) {
    prepared[name] = {
      single: await story.accepted(context),
      concurrent: await story.accepted(context),
      slow: await story.accepted(context),
      stranger: await story.accepted(otherContext),
      rejected: await story.rejected?.(context),
      key: randomUUID(),
    };
  }
  // Stop the worker, so that from here on only the mutations change rows.
  await service.worker!.stop(300_000);

  async function aContext() {
    return { service, gateway, setup: await visitSetup(service) };
  }
});

test("every mutation of the schema has a story in mutation-stories.ts", () => {
  expect(Object.keys(MUTATION_STORIES).toSorted()).toEqual(MUTATIONS.toSorted());
});

describe.each(Object.keys(MUTATION_STORIES))("repeated mutation %s", (name) => {
  const story = MUTATION_STORIES[name]!;
  const title = `${name[0]!.toUpperCase()}${name.slice(1)}`;

  test("takes effect once for eight concurrent requests with one idempotency key, and gives all of them the same answer", async () => {
    const { single, concurrent, key } = prepared[name]!;
    const once = await growth(() => send(name, single, randomUUID()));
    let all: Selected[] = [];
    const many = await growth(async () => {
      all = await Promise.all(Array.from({ length: AT_ONCE }, () => send(name, concurrent, key)));
    });
    const first = all.find(({ __typename }) => __typename === `${title}Payload`);
    expect(first, JSON.stringify(all)).toBeDefined();
    const others = all.filter((answer) => JSON.stringify(answer) !== JSON.stringify(first));
    expect(others.filter(({ error }) => error !== story.repeatIs)).toEqual([]);
    expect(story.repeatIs === undefined ? others : []).toEqual([]);
    expect(many).toEqual(once);
    answers[name] = first;
  });

  test("changes nothing and gives the same answer when it is sent again", async () => {
    const { concurrent, key } = prepared[name]!;
    const before = await allRows(service.app);
    expect(await send(name, concurrent, key)).toEqual(story.repeatIs ? { error: story.repeatIs } : answers[name]);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("gets IdempotencyConflict with another input under the same idempotency key, and the first request stays valid", async () => {
    const { concurrent, key } = prepared[name]!;
    const conflict = await send(name, await concurrent.other(answers[name]), key);
    expect(conflict).toMatchObject({ __typename: "IdempotencyConflict", code: "IDEMPOTENCY_CONFLICT" });
    expect(await send(name, concurrent, key)).toEqual(story.repeatIs ? { error: story.repeatIs } : answers[name]);
  });

  test(`gets ${story.isKeyOfAll ? "IdempotencyConflict" : "a result of its own"} under an idempotency key that another field partner has used`, async () => {
    const { stranger, key } = prepared[name]!;
    const { __typename } = await send(name, stranger, key);
    expect(__typename).toBe(story.isKeyOfAll ? "IdempotencyConflict" : `${title}Payload`);
  });

  test("waits for a running request with the same idempotency key, and gets its answer", async () => {
    const { slow } = prepared[name]!;
    const key = randomUUID();
    const client = await service.app.database.pool.connect();
    try {
      await client.query(`begin; lock table ${story.writes} in share mode`);
      const requests = [send(name, slow, key)];
      await waiting(1);
      requests.push(send(name, slow, key));
      await waiting(2);
      await client.query("rollback");
      const [first, second] = await Promise.all(requests);
      expect(first).toMatchObject({ __typename: `${title}Payload` });
      expect(second).toEqual(first);
    } finally {
      client.release(true);
    }
  });

  if (story.rejected)
    test("is rejected again after a rejection, even if the reason no longer applies", async () => {
      const rejected = prepared[name]!.rejected!;
      const key = randomUUID();
      const refusal = await send(name, rejected, key);
      expect(refusal).toMatchObject({ code: rejected.code });
      await rejected.mend?.();
      expect(await send(name, rejected, key)).toEqual(refusal);
    });
});

describe("an idempotency key", () => {
  test.each(Object.keys(MUTATION_STORIES))("of %s is remembered for a week, and no longer", async (name) => {
    const { repeatIs, afterAWeek } = MUTATION_STORIES[name]!;
    const { concurrent, key } = prepared[name]!;
    await age("6 days 23 hours", key);
    expect(await send(name, concurrent, key)).toEqual(repeatIs ? { error: repeatIs } : answers[name]);
    await age("2 hours", key);
    await ageSignIn("8 days", key);
    const answer = await send(name, concurrent, key);
    expect(answer.__typename ?? answer.error).toBe(afterAWeek);
  });
});

describe("a changed input under a used idempotency key", () => {
  const moment = "2026-11-20T09:00:00Z";
  const ending = (visitId: string) => ({ visitId, disposition: "OTHER", occurredAt: moment });
  const noted = (visitId: string) => ({ ...ending(visitId), note: "Caf\u00e9" });
  const asking = (visitId: string) => ({
    visitId,
    amount: { minor: "250000", currency: "INR" },
    channels: ["WHATSAPP", "EMAIL"],
  });

  test.each<[string, string, (visitId: string) => object, object, string]>([
    ["null for an absent field", "completeVisit", ending, { note: null, promise: null }, "CompleteVisitPayload"],
    [
      "the same moment with another offset",
      "completeVisit",
      ending,
      { occurredAt: "2026-11-20T14:30:00.000+05:30" },
      "CompleteVisitPayload",
    ],
    [
      "a text in another Unicode normal form",
      "completeVisit",
      noted,
      { note: "Caf\u0065\u0301" },
      "IdempotencyConflict",
    ],
    ["a text with one more space", "completeVisit", noted, { note: "Caf\u00e9 " }, "IdempotencyConflict"],
    [
      "a list in another order",
      "requestPaymentLink",
      asking,
      { channels: ["EMAIL", "WHATSAPP"] },
      "IdempotencyConflict",
    ],
  ])("is a repeat or a conflict as documented: %s", async (_, name, inputOf, change, type) => {
    const { app, visit } = setup;
    const input = { ...inputOf((await visit()).visitId), idempotencyKey: randomUUID() };
    const first = await send(name, { app, input }, input.idempotencyKey);
    const again = await send(name, { app, input: { ...input, ...change } }, input.idempotencyKey.toUpperCase());
    expect([first.__typename, again.__typename]).toEqual([expect.stringMatching(/Payload$/), type]);
  });
});

/** Returns the whole result, or the code of the error. */
async function send(name: string, { app, input }: StoryRequest, idempotencyKey: string): Promise<Selected> {
  const { data, errors } = await app.ask(documentOf(name), { input: { ...input, idempotencyKey } });
  return errors ? { error: errors[0]!.extensions.code } : data!["result"];
}

function documentOf(name: string): string {
  const field = schema.getMutationType()!.getFields()[name]!;
  const result = getNamedType(field.type);
  if (!isUnionType(result)) throw new Error(`${name} does not return a union.`);
  const parts = result.getTypes().map((type) => `... on ${type.name} { ${selectionOf(type, 3)} }`);
  return `mutation ($input: ${String(field.args[0]!.type)}) { result: ${name}(input: $input) { __typename ${parts.join(" ")} } }`;
}

/** Returns a selection of all fields down to `depth` levels, without connections. */
function selectionOf(type: GraphQLNamedOutputType, depth: number): string {
  if (!isObjectType(type)) return "__typename";
  const parts = Object.values(type.getFields()).map((field) => {
    const inner = getNamedType(field.type);
    if (isLeafType(inner)) return field.name;
    const isPage = inner.name.endsWith("Connection");
    return depth === 1 || isPage || !isObjectType(inner) ? "" : `${field.name} { ${selectionOf(inner, depth - 1)} }`;
  });
  return ["__typename", ...parts].join(" ");
}

/** Returns the number of rows that `work` adds to each table. */
async function growth(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await allRows(service.app);
  await work();
  const after = await allRows(service.app);
  const grown = Object.entries(after).map(([name, rows]) => [name, rows.length - (before[name]?.length ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, count]) => count !== 0));
}

/** Resolves once `count` sessions of the service wait for a lock. */
async function waiting(count: number): Promise<void> {
  const query = `select count(*)::int as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  for (;;) {
    const { rows } = await service.app.database.pool.query<{ waiting: number }>(query);
    if (rows[0]!.waiting >= count) return;
    await pause(5);
  }
}

/**
 * Makes the stored result of an idempotency key older by `time`, so that the test need not wait. The SQL operators must
 * be IMMUTABLE, because Citus rejects others.
 */
async function age(time: string, key: string): Promise<void> {
  const text =
    "update field_partners.mutation_result set created_at = (created_at at time zone 'UTC' - $1::interval) at time zone 'UTC' where key = $2";
  await service.app.database.pool.query(text, [time, key]);
}

/**
 * Makes the use of a one-time password or a refresh token under this idempotency key older by `time`. A repeat of the
 * request gets the same tokens for 15 minutes after a sign-in, and for a day after a refresh.
 */
async function ageSignIn(time: string, key: string): Promise<void> {
  const texts = [
    "update field_partners.otp set verified_at = (verified_at at time zone 'UTC' - $1::interval) at time zone 'UTC' where verified_key = $2",
    "update field_partners.token_pair set used_at = (used_at at time zone 'UTC' - $1::interval) at time zone 'UTC' where used_key = $2",
  ];
  for (const text of texts) await service.app.database.pool.query(text, [time, key]);
}
