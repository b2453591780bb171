import { firstIdAt, migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { anEarning } from "../tests/fixture.ts";
import { addEarnings, deductionSums } from "./index.ts";
import { earningsSchema } from "./schema.ts";

const schemas = [earningsSchema];
const { url } = await testDatabase("earnings", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

const FROM = new Date("2026-11-19T18:30:00Z");
const TO = new Date("2026-11-20T18:30:00Z");

test("deductionSums adds up the lines below 0 of the period", async () => {
  const [lenderId, other] = [newId(), newId()];
  const line = (of: string, amountMinor: bigint, at: Date) => {
    const id = firstIdAt(at).slice(0, -12) + newId().slice(-12);
    const change = { reversalId: newId(), baseBeforeMinor: 100_000n, baseMinor: 0n };
    return anEarning({ lenderId: of, id, amountMinor, status: "credited", earnedAt: at, creditedAt: at, ...change });
  };
  const before = new Date(FROM.getTime() - 1);
  const lines = [
    line(lenderId, -1_000n, FROM),
    line(lenderId, -500n, new Date(TO.getTime() - 1)),
    line(lenderId, -70n, before),
    line(lenderId, -80n, TO),
    line(lenderId, 2_000n, FROM),
    line(other, -9n, FROM),
  ];
  await transaction(database.em(), async (tx) => {
    for (const one of lines) addEarnings(tx, [one]);
  });
  const sums = await deductionSums(database.em(), lenderId, [new Date(FROM.getTime() - 60_000), FROM, TO]);
  expect(sums).toEqual([
    [{ currency: "INR", deductions: 1, amountMinor: 70n }],
    [{ currency: "INR", deductions: 2, amountMinor: 1_500n }],
  ]);
});
