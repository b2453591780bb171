import { collectionsLedger } from "@collections/bookings";
import { lenderByCode } from "@collections/lenders";
import { pino } from "pino";
import { expect, test } from "vitest";
import { extendChains } from "../../src/worker/worker.ts";
import { aLender, aRow, startTestService } from "../fixtures/fixture.ts";

test("a lender whose hash chain cannot be extended is logged and does not delay other lenders", async () => {
  const service = await startTestService({ hasWorker: false });
  const { database } = service.app;
  // Lenders are processed in the order of their codes, so BROKEN comes before NEXT.
  const broken = await aLender(service, { code: "BROKEN" });
  const next = await aLender(service, { code: "NEXT" });
  for (const lender of [broken, next]) {
    await lender.importCases([aRow("LN-1")]);
    const paidAt = new Date().toISOString();
    const { status } = await lender.confirm("LN-1", { amount: 2500, reference: "pay_1", paidAt, mode: "upi" });
    expect(status).toBe(200);
  }
  const [brokenId, nextId] = await Promise.all([broken, next].map(({ code }) => idOf(code)));
  await database.pool.query(`alter table ledger.chain_block add check (lender_id <> '${brokenId}')`);

  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  await extendChains({ database, log });
  expect(await collectionsLedger.chainHead(database.em(), brokenId!)).toBeUndefined();
  expect(await collectionsLedger.chainHead(database.em(), nextId!)).toMatchObject({ number: expect.anything() });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { lenderId: brokenId, msg: "ledger chain not extended" },
    { lenderId: nextId, msg: "ledger chain extended" },
  ]);

  async function idOf(code: string): Promise<string> {
    return (await lenderByCode(database.em(), code))!.id;
  }
});
