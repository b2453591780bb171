import { publicId } from "@collections/database";
import { type PayoutToRecord, recordPayout, verifyBooks } from "@collections/flows";
import { currency } from "@collections/money";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { operatorsCli } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";

const SEED = seedOfRun();
const RECORDER = fileURLToPath(new URL("fixtures/payout-process.ts", import.meta.url));
const LOANS = 2;
const KILLS = 10;
/** Tables that a payout writes. A lock on one of them stops its transaction after the writes to earlier tables. */
const WRITTEN_TABLES = ["earnings.payout", "earnings.earning", "ledger.transfer", "lenders.audit_entry"];

let service: TestService;
let lenders: Awaited<ReturnType<typeof aLender>>[];
let fieldPartnerId: string;
let orders = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lenders = [await aLender(service), await aLender(service)];
  fieldPartnerId = (await aFieldPartner(service)).id;
});

test(`kill -9 at a random moment leaves a payout recorded completely or not at all, and a repeat completes it (SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  let withinMs = 15;
  for (let kills = 0; kills < KILLS; kills += 1) {
    const order = await anOrder();
    const recorder = await startRecorder();
    recorder.send(order);
    await pause(random() * withinMs);
    await kill(recorder);
    const traces = await tracesOf(order);
    expect(traces).toBeOneOf([noTraces, allTraces]);
    // Adapt the delay to the machine, so that about half of the kills come before the commit.
    withinMs *= traces === allTraces ? 0.7 : 1.3;
    await expectRepeat(order, traces === allTraces ? "repeated" : "recorded");
  }
  await expectBooks();
});

test.each(WRITTEN_TABLES)(
  "kill -9 in the transaction before its write to %s leaves no trace of the payout",
  async (table) => {
    const order = await anOrder();
    const recorder = await startRecorder();
    const { pool } = service.app.database;
    const holder = await pool.connect();
    await holder.query(`begin; lock table ${table} in share row exclusive mode`);
    recorder.send(order);
    const waiting = "select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'";
    await expect.poll(async () => (await pool.query(waiting, [nameOf(recorder)])).rowCount).toBe(1);
    const killed = kill(recorder);
    await once(recorder, "exit");
    await holder.query("rollback");
    holder.release();
    await killed;
    expect(await tracesOf(order)).toBe(noTraces);
    await expectRepeat(order, "recorded");
    await expectBooks();
  },
);

test("kill -9 after the commit keeps the payout, and a repeat records no second one", async () => {
  const order = await anOrder();
  const recorder = await startRecorder();
  recorder.send(order);
  expect(await once(recorder, "message")).toMatchObject([{ kind: "recorded" }, undefined]);
  await kill(recorder);
  expect(await tracesOf(order)).toBe(allTraces);
  await expectRepeat(order, "repeated");
  await expectBooks();
});

test("concurrent `payout record` commands record a payout once, and each command prints the payout", async () => {
  const { reference, paidOn } = await anOrder();
  const cli = operatorsCli({ DATABASE_URL: service.databaseUrl });
  const args = ["payout", "record", publicId("fp", fieldPartnerId), "--currency", "INR", "--amount", "500"];
  const answers = await Promise.all(
    [1, 2, 3].map(() => cli.json(...args, "--reference", reference, "--paid-on", paidOn)),
  );
  expect(answers.map(({ outcome }) => String(outcome)).toSorted()).toEqual(["recorded", "repeated", "repeated"]);
  expect(new Set(answers.map(({ payoutId }) => payoutId)).size).toBe(1);
  await expectBooks();
});

/**
 * Lets each lender book a payment of 5,000 on each of some new loans, which credits the field partner 2.5 % of it.
 * Returns the payout that must be recorded for these earnings.
 */
async function anOrder(): Promise<PayoutToRecord> {
  orders += 1;
  for (const lender of lenders) {
    const loans = Array.from({ length: LOANS }, (_, index) => `LN-${orders}/${index}`);
    await lender.importCases(loans.map((loan) => aRow(loan)));
    await Promise.all(loans.map((loan) => assign(service, lender.code, loan, fieldPartnerId)));
    const payment = { amount: 5000, reference: "pay_1", paidAt: new Date().toISOString(), mode: "upi" };
    await Promise.all(loans.map((loan) => lender.confirm(loan, payment)));
  }
  return {
    fieldPartnerId,
    currency: currency("INR"),
    reference: `UTR${orders}`,
    paidOn: new Date().toISOString().slice(0, 10),
    until: null,
    amountMinor: BigInt(2 * LOANS) * 12_500n,
  };
}

async function startRecorder(): Promise<ChildProcess> {
  const recorder = fork(RECORDER, {
    env: { ...process.env, DATABASE_URL: service.databaseUrl },
    serialization: "advanced",
  });
  await once(recorder, "message");
  return recorder;
}

/** Kills a process and waits until PostgreSQL has closed its session. */
async function kill(recorder: ChildProcess): Promise<void> {
  const ended = once(recorder, "exit");
  recorder.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
  const { pool } = service.app.database;
  const sessions = "select from pg_stat_activity where application_name = $1";
  await expect.poll(async () => (await pool.query(sessions, [nameOf(recorder)])).rowCount).toBe(0);
}

async function expectRepeat(order: PayoutToRecord, kind: "recorded" | "repeated"): Promise<void> {
  expect((await recordPayout(service.app.database.em(), order)).kind).toBe(kind);
  expect(await tracesOf(order)).toBe(allTraces);
}

function nameOf({ pid }: ChildProcess): string {
  return `payout-${pid}`;
}

const noTraces = "0 parts, 0 lines, 0 transfers, 0 acts";
const allTraces = `2 parts, ${2 * LOANS} lines, ${2 * LOANS} transfers, 2 acts`;

/** Returns the number of the payout's rows in each table, as text. */
async function tracesOf({ reference }: PayoutToRecord): Promise<string> {
  const { rows } = await service.app.database.pool.query<{ traces: string }>(
    `select format('%s parts, %s lines, %s transfers, %s acts',
       (select count(*) from earnings.payout where reference = $1),
       (select count(*) from earnings.earning where payout_id in (select id from earnings.payout where reference = $1)),
       (select count(*) from ledger.transfer where memo = 'Paid out: ' || $1),
       (select count(*) from lenders.audit_entry where act = 'payout.recorded' and data->>'reference' = $1)) as traces`,
    [reference],
  );
  return rows[0]!.traces;
}

async function expectBooks(): Promise<void> {
  const { em } = service.app.database;
  expect(await verifyBooks(em(), { now: new Date() })).toMatchObject({ ok: true, problems: [] });
}
