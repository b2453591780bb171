import type { Client } from "pg";
import { setTimeout as delay } from "node:timers/promises";
import type { BenchServer } from "../server/bench-server.ts";
import { ASSIGN_EVERY_CASE } from "./assign-every-case.ts";
import { type Books, fillBooks, importLoans, type LenderKey } from "./books.ts";
import { addLenders } from "./more-lenders.ts";
import { PAY_EVERY_LOAN } from "./one-statement.ts";
import { openClient } from "../server/open-client.ts";
import { COMMISSION_PERCENT, type Loans } from "../load/payment.ts";
import type { BookSize } from "../plan.ts";
import { startService } from "../server/service.ts";

/** A database that was filled with a given number of events and lenders. */
export interface GrownBooks {
  readonly databaseUrl: string;
  readonly keys: readonly LenderKey[];
  readonly lenderIds: Books["lenderIds"];
  readonly loans: Loans;
}

/** The events of each loan: one for its import, one for its assignment, and one for each of its eight payments. */
const EVENTS_PER_LOAN = 10;
const PAYMENTS_PER_LOAN = EVENTS_PER_LOAN - 2;
const CODE = "GROWN";
const CHAIN_WITHIN_MS = 1_800_000;
const POLL_MS = 500;

/**
 * Fills a database with months of data. Lenders and loans are created through the public interfaces. For the payments,
 * one SQL statement writes the rows of all loans of a lender at once. They are the rows that the service would write,
 * so `ledger verify` finds no problem.
 */
export async function growBooks(
  server: Pick<BenchServer, "createDatabase">,
  name: string,
  { events, lenders, waiting }: BookSize,
  onProgress: (message: string) => void,
): Promise<GrownBooks> {
  const databaseUrl = await server.createDatabase(name);
  const perLender = Math.max(1, Math.round(events / lenders / EVENTS_PER_LOAN));
  const first = { lenderCodes: [CODE], perLender };
  onProgress(`${name}: importing ${(perLender * lenders).toLocaleString("en")} loans`);
  const options = [`--commission-percent=${COMMISSION_PERCENT}`];
  const books = await fillBooks(databaseUrl, [{ loans: first, options }]);
  const keys = [...books.keys, ...(await addLenders(databaseUrl, lenders - 1))];
  await importOthers(databaseUrl, keys.slice(1), perLender);
  const client = await openClient(databaseUrl);
  const lenderIds = await settleImports(client);
  for (let payment = 1; payment <= PAYMENTS_PER_LOAN; payment += 1) {
    onProgress(`${name}: payment ${payment} of ${PAYMENTS_PER_LOAN} for each loan`);
    const waits = waiting > 1 && payment > PAYMENTS_PER_LOAN - waiting / (perLender * lenders);
    for (const { lenderCode } of keys) {
      const values = [lenderIds[lenderCode], lenderCode, null, `grown-${payment}`, new Date(), waits];
      await client.query(PAY_EVERY_LOAN, values);
    }
    await client.query("vacuum cases.collection_case");
  }
  onProgress(`${name}: writing attempts and the ledger's hash chain`);
  await client.query(ATTEMPTS);
  await chain(databaseUrl, client);
  await client.query("vacuum analyze");
  await client.end();
  return { databaseUrl, keys, lenderIds, loans: { lenderCodes: keys.map(({ lenderCode }) => lenderCode), perLender } };
}

/** Marks the events of the imports as delivered, and assigns all cases to the only field partner. */
async function settleImports(client: Client): Promise<Record<string, string>> {
  await client.query("update webhooks.delivery set state = 'delivered', attempts = 1, settled_at = now()");
  await client.query(ASSIGN_EVERY_CASE, [true]);
  await client.query("vacuum analyze");
  const { rows } = await client.query<{ code: string; id: string }>("select code, id from lenders.lender");
  return Object.fromEntries(rows.map(({ code, id }) => [code, id]));
}

async function importOthers(databaseUrl: string, keys: readonly LenderKey[], perLender: number): Promise<void> {
  if (keys.length === 0) return;
  const service = await startService({ databaseUrl, role: "server" });
  for (const key of keys) {
    await importLoans(new URL(service.url), key, { lenderCodes: [key.lenderCode], perLender });
  }
  await service.stop();
}

const ATTEMPTS = `
insert into webhooks.attempt (lender_id, id, delivery_id, number, started_at, duration_ms, outcome, status, headers, body)
select lender_id, uuidv7(), id, 1, settled_at, 4, 'delivered', 200, '{"content-length":"0","connection":"keep-alive"}', ''
from webhooks.delivery where state = 'delivered'`;

/** Runs a worker until the hash chain is complete. Otherwise a worker would build it during the measurements. */
async function chain(databaseUrl: string, client: Client): Promise<void> {
  const { rows } = await client.query<{ count: string }>(
    "select (select count(*) from ledger.transfer) + (select count(*) from ledger.payment_booking) as count",
  );
  const all = Number(rows[0]!.count);
  const worker = await startService({ databaseUrl, role: "worker" });
  const deadline = performance.now() + CHAIN_WITHIN_MS;
  for (;;) {
    const { rows } = await client.query<{ count: string }>(
      "select coalesce(sum(row_count), 0) as count from ledger.chain_block",
    );
    const left = all - Number(rows[0]!.count);
    if (left === 0) break;
    if (performance.now() > deadline) throw new Error(`The hash chain still lacks ${left} rows.`);
    await delay(POLL_MS);
  }
  await worker.stop();
}
