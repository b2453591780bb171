import { beforeAll, describe, expect, test } from "vitest";
import type { Evidence } from "../src/invariants/evidence.ts";
import { violationsIn } from "../src/invariants.ts";
import { answersFair } from "../src/invariants/answers-fair.ts";
import { bookedOnce } from "../src/invariants/booked-once.ts";
import { bookedWhole } from "../src/invariants/booked-whole.ts";
import { eventsAccounted } from "../src/invariants/events-accounted.ts";
import { importedWhole } from "../src/invariants/imported-whole.ts";
import { ledgerVerifies } from "../src/invariants/ledger-verifies.ts";
import { lenderReconciles, unexplained } from "../src/invariants/lender-reconciles.ts";
import { linksExplained } from "../src/invariants/links-explained.ts";
import { nothingStuck } from "../src/invariants/nothing-stuck.ts";
import { reconciled } from "../src/invariants/reconciled.ts";
import { reversedOnce } from "../src/invariants/reversed-once.ts";
import { reversedWhole } from "../src/invariants/reversed-whole.ts";
import { sequencesGapless } from "../src/invariants/sequences-gapless.ts";
import { startOperator } from "../src/processes/service-process.ts";
import { readVerification, reconcile, seenBy } from "../src/invariants/settle.ts";
import { type SoundWorld, soundWorld } from "./sound-world.ts";

let world: SoundWorld;
let sound: Evidence;

beforeAll(async () => {
  world = await soundWorld();
  sound = {
    rows: world.books,
    model: world.model,
    lender: seenBy(world.lender),
    verification: { ok: true, problems: [] },
    reconciliation: await reconcile(world.settings, world.model),
  };
});

test("a consistent database has no violation", async () => {
  expect(await violationsIn(sound)).toEqual([]);
});

const LINK = "payment_links.payment_link";
const BOOKING_COLUMNS = `lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor, currency, mode,
  raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor,
  outstanding_after_minor, total_collected_after_minor, status_after, sequence, warnings, recorded_at, digest`;
const bookAgain = (change: (columns: string) => string) =>
  `insert into ledger.payment_booking (${BOOKING_COLUMNS})
   select ${change(BOOKING_COLUMNS.replace(" id,", " gen_random_uuid(),"))}
   from ledger.payment_booking where reference = 'pay_0'`;

const REVERSAL_COLUMNS = `lender_id, id, booking_id, source_loan_number, reference, reversal_reference, case_id, cycle,
  amount_minor, currency, reversed_at, reason, note, applied_minor, excess_minor, in_balance, adjustment_minor, reapplied,
  outstanding_after_minor, total_collected_after_minor, total_reversed_after_minor, excess_after_minor, status_after,
  sequence, warnings, recorded_at, digest`;
const reverseAgain = (column: string, value: string) =>
  `insert into ledger.payment_reversal (${REVERSAL_COLUMNS})
   select ${REVERSAL_COLUMNS.replace(" id,", " gen_random_uuid(),").replace(` ${column},`, ` ${value},`)}
   from ledger.payment_reversal`;

describe.each([
  {
    invariant: bookedOnce,
    doctorings: [
      ["delete from ledger.payment_booking where reference = 'pay_1'", /pay_1 was acknowledged but is not booked/],
      [bookAgain((columns) => columns.replace("source_loan_number", "'LN-2'")), /pay_0 is booked 2 times/],
      [bookAgain((columns) => columns.replace("reference", "'pay_x'")), /pay_x is booked, but no client sent it/],
      [
        "update ledger.payment_booking set source_loan_number = 'LN-2' where reference = 'pay_1'",
        /on LN-2, which differs/,
      ],
      [
        "update ledger.payment_booking set sequence = 77 where reference = 'pay_1'",
        /sequence 3, but its booking has 77/,
      ],
    ],
  },
  {
    invariant: bookedWhole,
    doctorings: [
      ["delete from webhooks.event where kind = 'payment.collected' and sequence = 3", /pay_1 of LN-0 has no event/],
      ["delete from ledger.transfer where kind = 'payment' and sequence = 3", /pay_1 of LN-0 has transfers of 0/],
      ["delete from ledger.payment_booking where reference = 'pay_1'", /is about pay_1, which is not booked/],
      ["delete from ledger.payment_booking where reference = 'pay_1'", /refer to a booking that does not exist/],
      ["update cases.collection_case set total_collected_minor = 1 where source_loan_number = 'LN-0'", /has 1 coll/],
    ],
  },
  {
    invariant: reversedOnce,
    doctorings: [
      ["delete from ledger.payment_reversal", /rev_pay_2 was acknowledged but is not recorded/],
      [reverseAgain("reversal_reference", "'rev_x'"), /rev_x is recorded, but no client sent it/],
      [reverseAgain("source_loan_number", "'LN-2'"), /rev_pay_2 is recorded 2 times/],
      ["update ledger.payment_reversal set source_loan_number = 'LN-2'", /of pay_2 on LN-2, which differs/],
      [
        "update ledger.payment_reversal set amount_minor = 3900, applied_minor = 3900",
        /recorded as 3900 of pay_2 on LN-0, which differs/,
      ],
      ["update ledger.payment_reversal set sequence = 77", /sequence 5, but its row has 77/],
      [
        "update ledger.payment_booking set amount_minor = 3900, applied_minor = 3900 where reference = 'pay_2'",
        /pay_2 of LN-0 is 3900, but its reversals are 4000/,
      ],
    ],
  },
  {
    invariant: reversedWhole,
    doctorings: [
      ["delete from webhooks.event where kind = 'payment.reversed'", /rev_pay_2 of LN-0 has no event/],
      ["delete from ledger.transfer where kind = 'correction'", /rev_pay_2 of LN-0 has transfers of 0/],
      ["delete from ledger.payment_reversal", /event 5 of LN-0 is about rev_pay_2, which is not recorded/],
      ["delete from ledger.payment_reversal", /transfers of 4000 take a payment back, but no reversal has/],
      [
        "update cases.collection_case set total_reversed_minor = 1 where source_loan_number = 'LN-0'",
        /LN-0 has 1 reversed, but its reversals are 4000/,
      ],
    ],
  },
  {
    invariant: sequencesGapless,
    doctorings: [
      [
        "delete from webhooks.event where source_loan_number = 'LN-0' and sequence = 2",
        /LN-0 has 4 events from 1 to 5/,
      ],
      [
        "delete from webhooks.event where source_loan_number = 'LN-0' and sequence = 1",
        /LN-0 has 4 events from 2 to 5/,
      ],
      [
        "update webhooks.event set sequence = 3 where source_loan_number = 'LN-0' and sequence = 2",
        /LN-0 has 5 events/,
      ],
      ["update cases.collection_case set sequence = 9 where source_loan_number = 'LN-0'", /its case has sequence 9/],
      ["delete from webhooks.event where source_loan_number = 'LN-2'", /LN-2 has 0 events/],
    ],
  },
  {
    invariant: eventsAccounted,
    doctorings: [
      ["delete from webhooks.delivery where loan = 'LN-0' and sequence = 2", /event 2 of LN-0 has no delivery/],
      ["delete from webhooks.event where source_loan_number = 'LN-0' and sequence = 2", /event 2 of LN-0 has no event/],
      ["update webhooks.delivery set loan = 'LN-9' where loan = 'LN-0' and sequence = 2", /is delivered as 2 of LN-9/],
    ],
  },
  {
    invariant: linksExplained,
    doctorings: [
      [`update ${LINK} set status = 'requested' where status = 'paid'`, /no process is minting it/],
      [`update ${LINK} set mint_started_at = null`, /its mint call was never made/],
      [`update ${LINK} set unavailable_at = now()`, /is both minted and unavailable/],
      [`update ${LINK} set unavailable_at = now()`, /unavailable links, but 0 events of them/],
      [`update ${LINK} set minted_at = null where status = 'minted'`, /was never minted/],
      [`update ${LINK} set status = 'sent' where status = 'minted'`, /was never sent/],
      [`update ${LINK} set unavailable_reason = 'asked_too_long_ago'`, /counts as asked too long ago/],
      ["delete from webhooks.event where kind = 'payment_link.created'", /has 0 events of its creation/],
      [`update ${LINK} set status = 'superseded' where status = 'minted'`, /no other link replaced it/],
      [`update ${LINK} set status = 'superseded' where status = 'paid'`, /its bookings do not match the status/],
      [`update ${LINK} set link_id = 'plink_x' where status = 'minted'`, /plink_x, which the lender never minted/],
      [`delete from ${LINK} where status = 'minted'`, /was returned to the app but does not exist/],
    ],
  },
  {
    invariant: importedWhole,
    doctorings: [
      [
        "delete from cases.collection_case where source_loan_number = 'LN-2'",
        /2 of 3 loans exist of the acknowledged import/,
      ],
      [
        `update cases.collection_case set source_loan_number = 'LN-0', cycle = 2, is_current = false
         where source_loan_number = 'LN-2'`,
        /LN-0 was imported twice/,
      ],
    ],
  },
  {
    invariant: nothingStuck,
    doctorings: [
      [
        "update webhooks.delivery set state = 'waiting' where loan = 'LN-0' and sequence = 2",
        /event 2 of LN-0 is wait/,
      ],
      ["update webhooks.endpoint set state = 'suspended'", /a callback is suspended/],
      [`update ${LINK} set status = 'requested' where status = 'minted'`, /is still requested/],
      [
        `insert into payment_links.link_delivery (lender_id, id, payment_link_id, channel, status, created_at, updated_at)
         select lender_id, gen_random_uuid(), id, 'email', 'queued', now(), now() from ${LINK}`,
        /the email of link .* is still queued/,
      ],
      ["update pgboss.job set state = 'created', start_after = now() - interval '1 m'", /jobs of .* created and over/],
      ["update pgboss.job set state = 'active', started_on = now() - interval '1 h'", /jobs of .* active and overdue/],
      [
        `insert into webhooks.replay (lender_id, id, states, rate_per_second, total, state, up_to, requested_by,
           next_step_at, created_at)
         select lender_id, id, '{parked}', 1, 5, 'running', id, 'somebody', now(), now() from webhooks.endpoint`,
        /the replay .* has sent 0 of 5/,
      ],
    ],
  },
] as const)('the invariant "$invariant.name"', ({ invariant, doctorings }) => {
  test.each(doctorings)("is violated after: %s", async (statement, complaint) => {
    const rows = invariant === nothingStuck ? world.rows : world.books;
    const evidence = { ...sound, rows };
    expect(await invariant.violations(evidence)).toEqual([]);
    await rows.query("begin");
    try {
      // Disable the triggers that would reject the wrong rows of this test.
      await rows.query(
        "set local citus.propagate_set_commands = 'local'; set local session_replication_role = replica",
      );
      const { rowCount } = await rows.query(statement);
      expect(rowCount).toBeGreaterThan(0);
      expect((await invariant.violations(evidence)).join("\n")).toMatch(complaint);
    } finally {
      await rows.query("rollback");
    }
  });
});

test("reversedOnce reports a reversal that was refused but is recorded", async () => {
  const [[name, reversal] = ["", undefined]] = [...sound.model.reversals];
  const reversals = new Map([[name, { ...reversal!, acknowledged: undefined, isRefused: true }]]);
  const { payments, batches, links, oddities } = sound.model;
  const model = { payments, batches, links, oddities, reversals };
  expect(await reversedOnce.violations({ ...sound, model })).toEqual(["rev_pay_2 was refused but is recorded"]);
});

test("eventsAccounted reports a delivered event that never arrived at the lender", async () => {
  const lender = { ...sound.lender, arrived: new Set<string>() };
  const found = await eventsAccounted.violations({ ...sound, lender });
  expect(found).toContain("event 1 of LN-0 counts as delivered, but the lender never acknowledged it");
});

test("linksExplained reports repeated mint calls and links that were never requested", async () => {
  const [key = ""] = sound.lender.mintCalls.keys();
  const lender = { ...sound.lender, mintCalls: new Map([[key, 2]]) };
  const model = { ...sound.model, payments: sound.model.payments, links: sound.model.links.slice(1) };
  expect(await linksExplained.violations({ ...sound, lender, model })).toEqual([
    `the lender's mint endpoint was called 2 times for ${key}`,
    "1 links were requested, but 2 exist",
  ]);
});

test("importedWhole reports an unacknowledged import that exists only in part", async () => {
  const imported = (loans: string[]) =>
    importedWhole.violations({ ...sound, model: { ...sound.model, batches: [{ loans, isAcknowledged: false }] } });
  expect(await imported(["LN-8", "LN-9"])).toEqual([]);
  expect(await imported(["LN-0", "LN-9"])).toEqual([
    "1 of 2 loans exist of the unacknowledged import that begins with LN-0",
  ]);
});

test("answersFair reports odd answers as violations", async () => {
  const model = { ...sound.model, oddities: ["a confirmation was answered 500"] };
  expect(await answersFair.violations({ ...sound, model })).toEqual(["a confirmation was answered 500"]);
});

test("reconciled reports missing payments, unsent ones and unknown reversals", async () => {
  const payments = new Map(world.model.payments);
  const { amountMinor, ...first } = payments.get("pay_0")!;
  // With the amount of another payment of the loan, `pay_lost` would be in `referenceDiffers`.
  const lost = { ...first, reference: "pay_lost", amountMinor: amountMinor + 1 };
  payments.set("pay_lost", lost);
  payments.delete("pay_1");
  const model = { ...sound.model, payments, reversals: new Map() };
  const reconciliation = await reconcile(world.settings, model);
  const found = await reconciled.violations({ ...sound, model, reconciliation });
  expect(found).toEqual([
    "1 payments are in onlyYours",
    "pay_1 is in onlyOurs",
    "pay_2 is in reversed, but no client reversed it",
    "4 payments were acknowledged, and 3 are found",
  ]);
});

test("lenderReconciles confirms a payment whose answer was lost", async () => {
  const { model, lender, service } = world;
  const { reference: _, ...sent } = JSON.parse(model.payments.get("pay_0")!.body) as Record<string, unknown>;
  const lost = { ...model.payments.get("pay_0")!, reference: "pay_lost", acknowledged: undefined };
  const body = JSON.stringify({ ...sent, reference: "pay_lost", paidAt: new Date().toISOString() });
  const payments = new Map([...model.payments, ["pay_lost", { ...lost, body }]]);
  const stage = { lender, servers: { urls: [service.url] }, model: { payments, reversals: model.reversals } };
  expect(await lenderReconciles(stage)).toEqual([]);
  const { body: theCase } = await lender.getCase("LN-0");
  expect(theCase["payments"]).toContainEqual(expect.objectContaining({ reference: "pay_lost" }));
});

test("unexplained reports every difference except known reversals", () => {
  const counts = { matched: 3, onlyYours: 1, onlyOurs: 0, reversed: 2 };
  const reversed = ["pay_2", "pay_7"].map((reference) => ({ loan: "LN-0", reference }));
  const run = { runId: "rec_1", clean: false, counts, onlyYours: [], reversed };
  expect(unexplained(run, world.model)).toEqual([
    "1 payments are in onlyYours of rec_1",
    "pay_7 is in reversed of rec_1, but no client reversed it",
  ]);
});

test("ledgerVerifies reports the findings of `ledger verify` as violations", async () => {
  await world.rows.query("begin");
  await world.rows.query(
    "set local citus.propagate_set_commands = 'local'; set local session_replication_role = replica",
  );
  await world.rows.query(
    `update ledger.payment_booking set amount_minor = amount_minor + 1, applied_minor = applied_minor + 1,
       total_collected_after_minor = total_collected_after_minor + 1`,
  );
  await world.rows.query("commit");
  const verification = readVerification(await startOperator(world.settings, "ledger", "verify", "--json").done);
  const found = await ledgerVerifies.violations({ ...sound, verification });
  expect(found.join("\n")).toMatch(/CONTENT_CHANGED/);
  expect(await ledgerVerifies.violations({ ...sound, verification: { ok: false, problems: [] } })).toHaveLength(1);
});
