import { expect, test } from "vitest";
import { aCase, aLender, currentCase, flowsDatabase, importRow } from "../../tests/fixture.ts";
import { runRetention } from "../../tests/retention.ts";
import { verifyBooks } from "./verify-books.ts";

const database = await flowsDatabase({ works: true });

test("verifyBooks distinguishes events that retention has deleted from missing events", async () => {
  const { lender } = await aLender(database);
  const quiet = await aCase(database, lender);
  const active = await aCase(database, lender);
  const verified = () => verifyBooks(database.em(), { lenderId: lender.id, now: new Date() });
  expect(await verified()).toMatchObject({ problems: [], counts: { events: 2 } });

  await growOldBy(60);
  expect(await runRetention(database)).toMatchObject({ forgotten: 2, isHeldUp: false });
  const row = { sourceLoanNumber: active.sourceLoanNumber, borrowerName: "Ravi K.", borrowerPhone: "+919800000001" };
  await importRow(database, lender, { ...row, outstandingAmount: 4_000 });
  expect((await currentCase(database, lender, active.sourceLoanNumber)).sequence).toBe(2n);
  expect(await verified()).toMatchObject({ problems: [], counts: { events: 1 } });

  await database.pool.query("delete from webhooks.event where source_loan_number = $1", [active.sourceLoanNumber]);
  await database.pool.query("update webhooks.let_go set sequence = 2 where loan = $1", [quiet.sourceLoanNumber]);
  const { problems } = await verified();
  expect(new Set(problems.map(({ code, detail }) => `${code}: ${detail}`))).toEqual(
    new Set([
      `CASE_MISMATCH: ${active.sourceLoanNumber}: The case is at sequence 2, its last event has sequence 1.`,
      `CASE_MISMATCH: ${quiet.sourceLoanNumber}: The case is at sequence 1, its last event has sequence 2.`,
      "DELIVERY_MISSING: 0 events are published, but 1 are delivered, waiting, retrying or parked.",
    ]),
  );
});

/** Backdates all events and deliveries by `days` days. */
async function growOldBy(days: number): Promise<void> {
  const agedId = `(left(webhooks.first_id(now() - interval '${days} days')::text, 13) || right(id::text, 23))::uuid`;
  await database.pool.query(`
    update webhooks.event set id = ${agedId};
    update webhooks.delivery set id = ${agedId}, state = 'delivered', settled_at = now() - interval '${days} days';
    do $$ begin
      alter table webhooks.event detach partition webhooks.event_first;
      execute format('alter table webhooks.event attach partition webhooks.event_first for values from (minvalue) to (%L)',
        webhooks.first_id(date_trunc('week', now() - interval '50 days', 'UTC')));
    end $$`);
}
