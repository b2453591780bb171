import { migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Tx } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { claimMutation, deleteExpired, saveMutationResult } from "./index.ts";
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

/**
 * Runs a mutation as a flow does: claims the idempotency key, does the work if the key is new, and saves the result.
 */
function run(mutation: ReturnType<typeof aMutation>, work: () => unknown, now = NOW) {
  return transaction(database.em(), async (tx: Tx) => {
    const claim = await claimMutation(tx, mutation, now);
    if (claim.kind === "new") saveMutationResult(tx, mutation, await work());
    return claim;
  });
}

test("a repeat gets the stored result and does not do the work again", async () => {
  const mutation = aMutation();
  expect(await run(mutation, () => ({ visitId: "v1", seen: [1, null] }))).toEqual({ kind: "new" });
  const repeated = await run(mutation, () => expect.unreachable("the work was done twice"));
  expect(repeated).toEqual({ kind: "repeat", result: { visitId: "v1", seen: [1, null] } });
});

test("a used idempotency key is a conflict only for the same field partner and the same mutation with another input", async () => {
  const mutation = aMutation();
  await run(mutation, () => null);
  expect(await run({ ...mutation, inputHash: hash("another") }, () => 1)).toEqual({ kind: "conflict" });
  expect(await run(mutation, () => 1)).toEqual({ kind: "repeat", result: null });
  for (const other of [{ key: randomUUID() as string }, { mutation: "completeVisit" }, { fieldPartnerId: newId() }]) {
    expect(await run({ ...mutation, ...other }, () => 1)).toEqual({ kind: "new" });
  }
});

test("one of ten concurrent equal requests does the work, and the other nine get its result", async () => {
  const mutation = aMutation();
  let worked = 0;
  const runs = Array.from({ length: 10 }, () =>
    run(mutation, async () => {
      await sleep(50);
      return { worked: (worked += 1) };
    }),
  );
  const claims = await Promise.all(runs);
  expect(worked).toBe(1);
  expect(claims.filter(({ kind }) => kind === "new")).toHaveLength(1);
  expect(claims.filter(({ kind }) => kind === "repeat")).toHaveLength(9);
  expect(claims.find(({ kind }) => kind === "repeat")).toEqual({ kind: "repeat", result: { worked: 1 } });
});

test("if a mutation fails, a concurrent repeat that waited for it does the work", async () => {
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

test("an idempotency key is new again after 7 days, even if the row with its result is not deleted yet", async () => {
  const mutation = aMutation();
  await run(mutation, () => "first");
  const atDay = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
  await transaction(database.em(), (tx) => deleteExpired(tx, atDay(6.9)));
  expect(await run(mutation, () => 1, atDay(6.9))).toEqual({ kind: "repeat", result: "first" });
  expect(await run(mutation, () => "later", atDay(7))).toEqual({ kind: "new" });
  expect(await transaction(database.em(), (tx) => deleteExpired(tx, atDay(14)))).toBeGreaterThan(0);
  expect(await run(mutation, () => "again", atDay(14))).toEqual({ kind: "new" });
});

test("claimMutation throws for a repeat if the claim was committed without a result", async () => {
  const mutation = aMutation();
  await transaction(database.em(), (tx) => claimMutation(tx, mutation, NOW));
  await expect(run(mutation, () => 1)).rejects.toThrow("without saveMutationResult");
});
