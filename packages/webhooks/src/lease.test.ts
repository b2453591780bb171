import { expect, test } from "vitest";
import { query, statement } from "@collections/database";
import { lease } from "./lease.ts";
import { openReceiver } from "../tests/receiver.ts";
import { countIn, eventsOn, openTrial, until } from "../tests/trial.ts";

const trial = await openTrial();
const { database } = trial;

const FROM_THE_BEGINNING = { count: 10, afterLoan: "", timeoutMs: 1_000 };

test("a look ends after so many loans and says where the next one goes on", async () => {
  const lenderId = await trial.addLender("https://example.com/");
  await addLoansTried(lenderId, 12_000);
  await trial.publish(eventsOn(lenderId, "new", 1, 1));
  const request = { lenderId, ...FROM_THE_BEGINNING, firstAttemptsOnly: true };

  const first = await lease(database.em(), request);
  expect(first).toMatchObject({ deliveries: [], lookedUpTo: "LN-05000" });
  const second = await lease(database.em(), { ...request, afterLoan: first.lookedUpTo! });
  expect(second).toMatchObject({ deliveries: [], lookedUpTo: "LN-10000" });
  const third = await lease(database.em(), { ...request, afterLoan: second.lookedUpTo! });
  expect(third).toMatchObject({ deliveries: [{ loan: "new" }], lookedUpTo: null });
});

test("a look that finds as many as it wants ends there, and one that sees the last loan says so", async () => {
  const lenderId = await trial.addLender("https://example.com/");
  await trial.publish(["LN-1", "LN-2", "LN-3"].flatMap((loan) => eventsOn(lenderId, loan, 1, 2)));
  const request = { lenderId, ...FROM_THE_BEGINNING, count: 2, firstAttemptsOnly: false };

  const first = await lease(database.em(), request);
  expect(first).toMatchObject({ deliveries: [{ loan: "LN-1" }, { loan: "LN-2" }], lookedUpTo: "LN-2" });
  const second = await lease(database.em(), { ...request, afterLoan: "LN-2" });
  expect(second).toMatchObject({ deliveries: [{ loan: "LN-3" }], lookedUpTo: null });
  expect(await lease(database.em(), request)).toMatchObject({ deliveries: [], lookedUpTo: null, recoveredAt: null });
});

test("what is new goes out although thousands of loans wait with retries for a receiver that hangs on those", async () => {
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
  // Each look passes a thousand of them, and on a busy machine takes its time.
}, 60_000);

/** Loans LN-00001 … with one event each whose retry is due. */
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
