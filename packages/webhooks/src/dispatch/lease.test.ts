import { until } from "@collections/testing";
import { expect, test } from "vitest";
import { newId, query, statement, transaction, type Tx } from "@collections/database";
import { type Lease, lease, leaseOfMany } from "./lease.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { countIn, eventsOn, openTrial } from "../../tests/trial.ts";

const trial = await openTrial();
const { database } = trial;

const FROM_THE_BEGINNING = { count: 10, afterLoan: "", timeoutMs: 600_000 };

test("a scan ends after 5,000 loans and returns where the next scan continues", async () => {
  const lenderId = await trial.addLender("https://example.com/");
  await addLoansTried(lenderId, 12_000);
  await trial.publish(eventsOn(lenderId, "new", 1, 1));
  const request = { lenderId, ...FROM_THE_BEGINNING, firstAttemptsOnly: true };

  const first = await lease(database.em(), request);
  expect(first).toMatchObject({ deliveries: [], scannedUpTo: "LN-05000" });
  const second = await lease(database.em(), { ...request, afterLoan: first.scannedUpTo! });
  expect(second).toMatchObject({ deliveries: [], scannedUpTo: "LN-10000" });
  const third = await lease(database.em(), { ...request, afterLoan: second.scannedUpTo! });
  expect(third).toMatchObject({ deliveries: [{ loan: "new" }], scannedUpTo: null });
});

test("a scan ends when it has found enough deliveries, and returns null after the last loan", async () => {
  const lenderId = await trial.addLender("https://example.com/");
  await trial.publish(["LN-1", "LN-2", "LN-3"].flatMap((loan) => eventsOn(lenderId, loan, 1, 2)));
  const request = { lenderId, ...FROM_THE_BEGINNING, count: 2, firstAttemptsOnly: false };

  const first = await lease(database.em(), request);
  expect(first).toMatchObject({ deliveries: [{ loan: "LN-1" }, { loan: "LN-2" }], scannedUpTo: "LN-2" });
  const second = await lease(database.em(), { ...request, afterLoan: "LN-2" });
  expect(second).toMatchObject({ deliveries: [{ loan: "LN-3" }], scannedUpTo: null });
  expect(await lease(database.em(), request)).toMatchObject({ deliveries: [], scannedUpTo: null, recoveredAt: null });
});

test("new events are delivered although the receiver hangs on the retries of thousands of loans", async () => {
  await using receiver = await openReceiver((response, { loan }) => {
    if (loan.startsWith("new")) response.writeHead(200).end();
  });
  const lenderId = await trial.addLender(receiver.url);
  await addLoansTried(lenderId, 12_000);
  await using _dispatcher = trial.dispatch({ maxPerEndpoint: 8 });
  await receiver.arrived(1);
  await trial.publish(["new-1", "new-2", "new-3"].flatMap((loan) => eventsOn(lenderId, loan, 1, 1)));
  await until(async () => (await countIn(database, lenderId, "delivered")) === 3);
  expect(await countIn(database, lenderId, "waiting")).toBeGreaterThan(11_000);
});

test(
  "a query for several lenders leases the same deliveries as a separate query for each lender",
  { tags: "many-lenders" },
  async () => {
    const quiet = await trial.addLender("https://example.com/quiet");
    await trial.publish(eventsOn(quiet, "LN-1", 1, 2));
    const many = await trial.addLender("https://example.com/many");
    await trial.publish(["LN-1", "LN-2", "LN-3"].flatMap((loan) => eventsOn(many, loan, 1, 1)));
    const tried = await trial.addLender("https://example.com/tried");
    await addLoansTried(tried, 10);
    const leased = await trial.addLender("https://example.com/leased");
    await trial.publish(eventsOn(leased, "LN-1", 1, 1));
    await lease(database.em(), { lenderId: leased, ...FROM_THE_BEGINNING, firstAttemptsOnly: false });
    const silent = await trial.addLender(null);
    await trial.publish(eventsOn(silent, "LN-1", 1, 1));
    const all = { ...FROM_THE_BEGINNING, firstAttemptsOnly: false };
    const requests = [
      { lenderId: many, ...all, count: 2 },
      { lenderId: quiet, ...all },
      { lenderId: tried, ...all, firstAttemptsOnly: true },
      { lenderId: many, ...all, afterLoan: "LN-2" },
      { lenderId: leased, ...all },
      { lenderId: silent, ...all },
      { lenderId: newId(), ...all },
    ];
    for (const some of [requests.slice(0, 3), requests.slice(3)]) {
      const alone = await rolledBack((tx) => Promise.all(some.map((request) => lease(tx, request))));
      const together = await rolledBack((tx) => leaseOfMany(tx, some));
      expect(together).toMatchObject(alone.map(withAnyClaim));
      expect(together.flatMap(({ deliveries }) => deliveries).length).toBeGreaterThan(0);
    }
  },
);

test(
  "a query for several lenders scans 64 loans of each lender, and returns where the next scan continues",
  { tags: "many-lenders" },
  async () => {
    const few = await trial.addLender("https://example.com/");
    await trial.publish(eventsOn(few, "LN-1", 1, 1));
    const many = await trial.addLender("https://example.com/");
    await addLoansTried(many, 1_000);
    const request = { ...FROM_THE_BEGINNING, firstAttemptsOnly: true };
    const requests = [many, few].map((lenderId) => ({ lenderId, ...request }));
    expect(await leaseOfMany(database.em(), requests)).toMatchObject([
      { deliveries: [], scannedUpTo: "LN-00064" },
      { deliveries: [{ loan: "LN-1" }], scannedUpTo: null },
    ]);
  },
);

test("concurrent queries for the same lenders lease each event once", { tags: "many-lenders" }, async () => {
  const lenders = await Promise.all(Array.from({ length: 10 }, () => trial.addLender("https://example.com/")));
  await trial.publish(lenders.flatMap((id) => ["LN-1", "LN-2", "LN-3"].flatMap((loan) => eventsOn(id, loan, 1, 1))));
  const requests = lenders.map((lenderId) => ({ lenderId, ...FROM_THE_BEGINNING, firstAttemptsOnly: false }));
  const orders = [requests, requests.toReversed(), requests, requests.toReversed()];
  const leases = await Promise.all(orders.map((some) => leaseOfMany(database.em(), some)));
  const ids = leases.flat().flatMap(({ deliveries }) => deliveries.map(({ deliveryId }) => deliveryId));
  expect(ids).toHaveLength(30);
  expect(new Set(ids).size).toBe(30);
});

function withAnyClaim({ deliveries, ...rest }: Lease) {
  const claim = { claimId: expect.any(String) as unknown, startBefore: expect.any(Number) as unknown };
  return { ...rest, deliveries: deliveries.map((delivery) => ({ ...delivery, ...claim })) };
}

/** Runs `leaseInTransaction` and rolls back. Returns its leases. */
async function rolledBack(leaseInTransaction: (tx: Tx) => Promise<Lease[]>): Promise<Lease[]> {
  let found: Lease[] = [];
  const undo = new Error("undo");
  await transaction(database.em(), async (tx) => {
    found = await leaseInTransaction(tx);
    throw undo;
  }).catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  return found;
}

/** Inserts loans LN-00001 … with one event each, whose retry is due. */
async function addLoansTried(lenderId: string, count: number): Promise<void> {
  await query(database.em(), insertTried, [lenderId, count]);
}

const insertTried = statement(
  "webhooks-trial.insert-tried",
  `with made as materialized (
     select (left(webhooks.first_id(now())::text, 14) || substr(gen_random_uuid()::text, 15))::uuid as id, 'LN-' || lpad(n::text, 5, '0') as loan from generate_series(1, $2::integer) n
   ), event as (
     insert into webhooks.event (lender_id, id, kind, source_loan_number, sequence, body, occurred_at)
     select $1, id, 'ping', loan, 1, jsonb_build_object('loan', loan, 'sequence', 1)::text, now() from made
   )
   insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, attempts)
   select $1, made.id, e.id, made.loan, 1, 'ping', 'waiting', 1 from made join webhooks.endpoint e on e.lender_id = $1`,
);
