import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { getNamedType, type GraphQLNamedOutputType, isLeafType, isObjectType, isUnionType } from "graphql";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { type DoorStage, doorStage } from "../fixtures/door-stage.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import {
  type Answer,
  type DoableWish,
  MUTATION_STORIES,
  type RefusedWish,
  type Wish,
} from "./fixtures/mutation-stories.ts";
import { startSmsGateway } from "../fixtures/sms-gateway.ts";
import { allRows } from "../fixtures/table-rows.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const MUTATIONS = Object.keys(schema.getMutationType()!.getFields());
const AT_ONCE = 8;

interface Prepared {
  /** Three of the same kind: to be sent once, to be sent many times at once, to be sent while another is at work. */
  readonly single: DoableWish;
  readonly crowd: DoableWish;
  readonly slow: DoableWish;
  /** One of somebody else's. */
  readonly stranger: DoableWish;
  readonly refused: RefusedWish | undefined;
  readonly key: string;
}

let service: TestService;
let home: DoorStage;
const prepared: Record<string, Prepared> = {};
const answers: Record<string, Answer> = {};

beforeAll(async () => {
  const gateway = await startSmsGateway();
  const settings = { ENVIRONMENT: "live", OTP_SMS_URL: gateway.url, OTP_SMS_HEADER: "Authorization: Key x" };
  service = await startTestService({ settings });
  const [place, elsewhere] = [await aPlace(), await aPlace()];
  home = place.stage;
  for (const [name, story] of Object.entries(MUTATION_STORIES)) {
    prepared[name] = {
      single: await story.wish(place),
      crowd: await story.wish(place),
      slow: await story.wish(place),
      stranger: await story.wish(elsewhere),
      refused: await story.refused?.(place),
      key: randomUUID(),
    };
  }
  // What changes from here on are the mutations' own doings.
  await service.worker!.stop(5_000);

  async function aPlace() {
    return { service, gateway, stage: await doorStage(service) };
  }
});

test("every mutation of the schema has its story; write that of a new one into mutation-stories.ts", () => {
  expect(Object.keys(MUTATION_STORIES).toSorted()).toEqual(MUTATIONS.toSorted());
});

describe.each(Object.keys(MUTATION_STORIES))("%s", (name) => {
  const story = MUTATION_STORIES[name]!;
  const title = `${name[0]!.toUpperCase()}${name.slice(1)}`;

  test("eight times at once under one key is done once, and every one gets the same answer", async () => {
    const { single, crowd, key } = prepared[name]!;
    const once = await growth(() => send(name, single, randomUUID()));
    let all: Answer[] = [];
    const many = await growth(async () => {
      all = await Promise.all(Array.from({ length: AT_ONCE }, () => send(name, crowd, key)));
    });
    const first = all.find(({ __typename }) => __typename === `${title}Payload`);
    expect(first, JSON.stringify(all)).toBeDefined();
    const others = all.filter((answer) => JSON.stringify(answer) !== JSON.stringify(first));
    expect(others.filter(({ error }) => error !== story.repeatIs)).toEqual([]);
    expect(story.repeatIs === undefined ? others : []).toEqual([]);
    expect(many).toEqual(once);
    answers[name] = first;
  });

  test("again changes nothing and says the same", async () => {
    const { crowd, key } = prepared[name]!;
    const before = await allRows(service.app);
    expect(await send(name, crowd, key)).toEqual(story.repeatIs ? { error: story.repeatIs } : answers[name]);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("with another input under the same key is a conflict, and the first stays as it is", async () => {
    const { crowd, key } = prepared[name]!;
    const conflict = await send(name, await crowd.other(answers[name]), key);
    expect(conflict).toMatchObject({ __typename: "IdempotencyConflict", code: "IDEMPOTENCY_CONFLICT" });
    expect(await send(name, crowd, key)).toEqual(story.repeatIs ? { error: story.repeatIs } : answers[name]);
  });

  test(`under somebody else's key is ${story.isKeyOfAll ? "a conflict: nobody is known" : "something of one's own"}`, async () => {
    const { stranger, key } = prepared[name]!;
    const { __typename } = await send(name, stranger, key);
    expect(__typename).toBe(story.isKeyOfAll ? "IdempotencyConflict" : `${title}Payload`);
  });

  test("again while the first is at work waits for it, and gets its answer", async () => {
    const { slow } = prepared[name]!;
    const key = randomUUID();
    const client = await service.app.database.pool.connect();
    try {
      await client.query(`begin; lock table ${story.writes} in share mode`);
      const asked = [send(name, slow, key)];
      await waiting(1);
      asked.push(send(name, slow, key));
      await waiting(2);
      await client.query("rollback");
      const [first, second] = await Promise.all(asked);
      expect(first).toMatchObject({ __typename: `${title}Payload` });
      expect(second).toEqual(first);
    } finally {
      client.release(true);
    }
  });

  if (story.refused)
    test("that was refused is refused again, whatever has changed since", async () => {
      const refused = prepared[name]!.refused!;
      const key = randomUUID();
      const refusal = await send(name, refused, key);
      expect(refusal).toMatchObject({ code: refused.code });
      await refused.mend?.();
      expect(await send(name, refused, key)).toEqual(refusal);
    });
});

describe("a key", () => {
  test.each(Object.keys(MUTATION_STORIES))("of %s is remembered for a week, and not for longer", async (name) => {
    const { repeatIs, afterAWeek } = MUTATION_STORIES[name]!;
    const { crowd, key } = prepared[name]!;
    await age("6 days 23 hours", key);
    expect(await send(name, crowd, key)).toEqual(repeatIs ? { error: repeatIs } : answers[name]);
    await age("2 hours", key);
    await ageSignIn("8 days", key);
    const answer = await send(name, crowd, key);
    expect(answer.__typename ?? answer.error).toBe(afterAWeek);
  });
});

describe("input under a used key", () => {
  const moment = "2026-11-20T09:00:00Z";
  const ending = (visitId: string) => ({ visitId, disposition: "OTHER", occurredAt: moment });
  const noted = (visitId: string) => ({ ...ending(visitId), note: "Caf\u00e9" });
  const asking = (visitId: string) => ({
    visitId,
    amount: { minor: "250000", currency: "INR" },
    channels: ["WHATSAPP", "EMAIL"],
  });

  test.each<[string, string, (visitId: string) => object, object, string]>([
    ["with null for what was absent", "completeVisit", ending, { note: null, promise: null }, "CompleteVisitPayload"],
    [
      "with a moment of another offset",
      "completeVisit",
      ending,
      { occurredAt: "2026-11-20T14:30:00.000+05:30" },
      "CompleteVisitPayload",
    ],
    ["with a text in another Unicode form", "completeVisit", noted, { note: "Caf\u0065\u0301" }, "IdempotencyConflict"],
    ["with a blank more", "completeVisit", noted, { note: "Caf\u00e9 " }, "IdempotencyConflict"],
    [
      "with a list in another order",
      "requestPaymentLink",
      asking,
      { channels: ["EMAIL", "WHATSAPP"] },
      "IdempotencyConflict",
    ],
  ])("%s is answered as the documents say", async (_, name, inputOf, change, type) => {
    const { app, visit } = home;
    const input = { ...inputOf((await visit()).visitId), idempotencyKey: randomUUID() };
    const first = await send(name, { app, input }, input.idempotencyKey);
    const again = await send(name, { app, input: { ...input, ...change } }, input.idempotencyKey.toUpperCase());
    expect([first.__typename, again.__typename]).toEqual([expect.stringMatching(/Payload$/), type]);
  });
});

/** The whole result, or the code of the error. */
async function send(name: string, { app, input }: Wish, idempotencyKey: string): Promise<Answer> {
  const { data, errors } = await app.ask(documentOf(name), { input: { ...input, idempotencyKey } });
  return errors ? { error: errors[0]!.extensions.code } : data!["result"];
}

function documentOf(name: string): string {
  const field = schema.getMutationType()!.getFields()[name]!;
  const result = getNamedType(field.type);
  if (!isUnionType(result)) throw new Error(`${name} answers with no union.`);
  const parts = result.getTypes().map((type) => `... on ${type.name} { ${selectionOf(type, 3)} }`);
  return `mutation ($input: ${String(field.args[0]!.type)}) { result: ${name}(input: $input) { __typename ${parts.join(" ")} } }`;
}

/** All that there is to read, some levels deep, without lists that have pages. */
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

/** How many rows each table has got by `work`. */
async function growth(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await allRows(service.app);
  await work();
  const after = await allRows(service.app);
  const grown = Object.entries(after).map(([name, rows]) => [name, rows.length - (before[name]?.length ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, count]) => count !== 0));
}

/** Until so many sessions of the service wait for a lock. */
async function waiting(count: number): Promise<void> {
  const query = `select count(*)::int as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  for (;;) {
    const { rows } = await service.app.database.pool.query<{ waiting: number }>(query);
    if (rows[0]!.waiting >= count) return;
    await pause(5);
  }
}

/** Lets time pass for what is remembered under a key. The operators are IMMUTABLE: Citus allows no others. */
async function age(time: string, key: string): Promise<void> {
  const text =
    "update field_partners.mutation_result set created_at = (created_at at time zone 'UTC' - $1::interval) at time zone 'UTC' where key = $2";
  await service.app.database.pool.query(text, [time, key]);
}

/** The same for codes and tokens, which remember their keys themselves, for 15 minutes. */
async function ageSignIn(time: string, key: string): Promise<void> {
  const texts = [
    "update field_partners.otp set verified_at = (verified_at at time zone 'UTC' - $1::interval) at time zone 'UTC' where verified_key = $2",
    "update field_partners.token_pair set used_at = (used_at at time zone 'UTC' - $1::interval) at time zone 'UTC' where used_key = $2",
  ];
  for (const text of texts) await service.app.database.pool.query(text, [time, key]);
}
