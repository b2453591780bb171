import { createDatabase, migrate, newId, transaction, type Tx } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { forgetExpired, recallMutation, rememberMutation } from "./index.ts";
import { fieldPartnersSchema } from "./schema.ts";

const schemas = [fieldPartnersSchema];
const { url } = await testDatabase("field-partners", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas, poolMax: 12 });
afterAll(() => database.close());

const NOW = new Date("2026-11-21T09:00:00Z");
const DAY_MS = 24 * 60 * 60 * 1000;

function aMutation() {
  return { fieldPartnerId: newId(), mutation: "startVisit", key: randomUUID() as string, inputHash: hash("one input") };
}

function hash(input: string): Buffer {
  return createHash("sha256").update(input).digest();
}

/** A mutation as a flow runs it: recalled, else worked and remembered, in one transaction. */
function run(mutation: ReturnType<typeof aMutation>, work: () => unknown, now = NOW) {
  return transaction(database.em(), async (tx: Tx) => {
    const recalled = await recallMutation(tx, mutation, now);
    if (recalled.kind === "new") rememberMutation(tx, mutation, await work());
    return recalled;
  });
}

test("a repeat gets the stored result and no second effect", async () => {
  const mutation = aMutation();
  expect(await run(mutation, () => ({ visitId: "v1", seen: [1, null] }))).toEqual({ kind: "new" });
  const repeated = await run(mutation, () => expect.unreachable("worked twice"));
  expect(repeated).toEqual({ kind: "repeat", result: { visitId: "v1", seen: [1, null] } });
});

test("the same key with another input is a conflict; another key, mutation or field partner is not", async () => {
  const mutation = aMutation();
  await run(mutation, () => null);
  expect(await run({ ...mutation, inputHash: hash("another") }, () => 1)).toEqual({ kind: "conflict" });
  expect(await run(mutation, () => 1)).toEqual({ kind: "repeat", result: null });
  for (const other of [{ key: randomUUID() as string }, { mutation: "completeVisit" }, { fieldPartnerId: newId() }]) {
    expect(await run({ ...mutation, ...other }, () => 1)).toEqual({ kind: "new" });
  }
});

test("of ten equal requests at once one works and nine wait for its result", async () => {
  const mutation = aMutation();
  let worked = 0;
  const runs = Array.from({ length: 10 }, () =>
    run(mutation, async () => {
      await sleep(50);
      return { worked: (worked += 1) };
    }),
  );
  const recalled = await Promise.all(runs);
  expect(worked).toBe(1);
  expect(recalled.filter(({ kind }) => kind === "new")).toHaveLength(1);
  expect(recalled.filter(({ kind }) => kind === "repeat")).toHaveLength(9);
  expect(recalled.find(({ kind }) => kind === "repeat")).toEqual({ kind: "repeat", result: { worked: 1 } });
});

test("a mutation that failed is forgotten: who waited for it works instead", async () => {
  const mutation = aMutation();
  const claimed = Promise.withResolvers<void>();
  const failing = run(mutation, async () => {
    claimed.resolve();
    await sleep(50);
    throw new Error("the visit is unknown");
  });
  await claimed.promise;
  const waiting = run(mutation, () => "second");
  const outcomes = await Promise.allSettled([failing, waiting]);
  expect(outcomes).toMatchObject([{ status: "rejected" }, { status: "fulfilled", value: { kind: "new" } }]);
  expect(await run(mutation, () => 1)).toEqual({ kind: "repeat", result: "second" });
});

test("a result is kept for 7 days; then the key is new again, also before anybody cleaned up", async () => {
  const mutation = aMutation();
  await run(mutation, () => "first");
  const atDay = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
  await transaction(database.em(), (tx) => forgetExpired(tx, atDay(6.9)));
  expect(await run(mutation, () => 1, atDay(6.9))).toEqual({ kind: "repeat", result: "first" });
  expect(await run(mutation, () => "later", atDay(7))).toEqual({ kind: "new" });
  expect(await transaction(database.em(), (tx) => forgetExpired(tx, atDay(14)))).toBeGreaterThan(0);
  expect(await run(mutation, () => "again", atDay(14))).toEqual({ kind: "new" });
});

test("a claim without a result is reported as the bug it is", async () => {
  const mutation = aMutation();
  await transaction(database.em(), (tx) => recallMutation(tx, mutation, NOW));
  await expect(run(mutation, () => 1)).rejects.toThrow("without rememberMutation");
});
