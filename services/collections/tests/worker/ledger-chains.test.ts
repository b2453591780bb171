import { collectionsLedger } from "@collections/bookings";
import { actsOn, lenderByCode } from "@collections/lenders";
import { pino } from "pino";
import { expect, test } from "vitest";
import { extendChains } from "../../src/worker/worker.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
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

test("`ledger extend`, which `ledger verify` names, adds an old row that no worker adds", async () => {
  const service = await startTestService({ hasWorker: false });
  const { database } = service.app;
  const lender = await aLender(service);
  await lender.importCases([aRow("LN-1")]);
  await extendChains({ database, log: service.app.log });
  await database.pool.query(
    `insert into ledger.transfer
     select (jsonb_populate_record(t, jsonb_build_object('id', '01900000' || right(t.id::text, 28), 'digest', null,
       'recorded_at', now() - interval '1 hour'))).*
     from ledger.transfer t`,
  );
  await extendChains({ database, log: service.app.log });
  const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const verified = async () => {
    const { stdout } = await cli("ledger", "verify", "--lender", lender.code, "--json");
    const { problems, next } = JSON.parse(stdout) as { problems: { code: string; detail: string }[]; next: string[] };
    return { outside: problems.filter(({ code }) => code === "ROW_OUTSIDE_CHAIN"), next };
  };
  const { outside, next } = await verified();
  expect(outside).toMatchObject([{ detail: expect.stringContaining("extend the chain over everything") as string }]);
  expect(next).toEqual([expect.stringContaining(`Then add them: ledger extend --lender ${lender.code} --reason`)]);
  expect((await cli("ledger", "verify", "--lender", lender.code)).stdout).toContain(next[0]);
  const extend = () => cli.json("ledger", "extend", "--lender", lender.code, "--reason", "row of a backup");
  expect(await extend()).toEqual({ chains: [{ lenderCode: lender.code, blocks: 1, rows: 1, head: "2" }] });
  expect(await extend()).toEqual({ chains: [{ lenderCode: lender.code, blocks: 0, rows: 0, head: "2" }] });
  expect(await verified()).toEqual({ outside: [], next: [] });
  const { id } = (await lenderByCode(database.em(), lender.code))!;
  const [act, earlier] = await actsOn(database.em(), id);
  expect(act).toMatchObject({ act: "ledger.extended", reason: "row of a backup", data: { blocks: 1, rows: 1 } });
  expect(earlier).not.toMatchObject({ act: "ledger.extended" });
});
