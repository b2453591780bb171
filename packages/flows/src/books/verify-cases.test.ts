import { publicId, transaction } from "@collections/database";
import { type FieldPartner, suspendFieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import {
  aCase,
  aFieldPartner,
  aLender,
  BORROWER,
  currentCase,
  ENVIRONMENT,
  flowsDatabase,
  importRow,
} from "../../tests/fixture.ts";
import { aReversal, bookPayment, reversed } from "../../tests/reversals.ts";
import { assignCase, closeCase, holdCase, releaseCase, unassignCase } from "../case/change-case.ts";
import { verifyBooks } from "./verify-books.ts";

const database = await flowsDatabase();

let lender: Lender;
let holder: FieldPartner;
let loan: string;
beforeEach(async () => {
  ({ lender } = await aLender(database));
  holder = await aFieldPartner(database);
  loan = (await aCase(database, lender, { fieldPartner: holder, row: { outstandingAmount: 100 } })).sourceLoanNumber;
});

async function problems(): Promise<string[]> {
  const { problems } = await verifyBooks(database.em(), { lenderId: lender.id, now: new Date() });
  return problems.map(({ code, detail }) => `${code}: ${detail}`);
}

/** Changes the current case as the service's database role can. */
async function forge(set: string): Promise<void> {
  await database.pool.query(
    `update cases.collection_case set ${set} where lender_id = $1 and source_loan_number = $2 and is_current`,
    [lender.id, loan],
  );
}

const order = () => ({ lender, loan, reason: null });
const assign = ({ id: fieldPartnerId }: FieldPartner) =>
  assignCase(database.em(), { ...order(), fieldPartnerId }, ENVIRONMENT);
const pay = (reference: string, amount: number) =>
  bookPayment(database, lender, { loan, reference, amount, paidAt: new Date() });
const importBalance = (outstandingAmount: number) =>
  importRow(database, lender, { sourceLoanNumber: loan, ...BORROWER, outstandingAmount });

/** The acts on a case that change its status or its field partner, in an order that each allows the next. */
const LIFE: readonly [string, () => Promise<unknown>][] = [
  ["a new assignment", async () => assign(await aFieldPartner(database))],
  ["an unassignment", () => unassignCase(database.em(), order(), ENVIRONMENT)],
  ["an assignment", () => assign(holder)],
  ["a hold", () => holdCase(database.em(), order(), ENVIRONMENT)],
  ["a payment during the hold", () => pay("A", 10)],
  ["a release", () => releaseCase(database.em(), order(), ENVIRONMENT)],
  ["a payment of the rest", () => pay("B", 90)],
  ["a reversal that reopens the case", () => reversed(database, aReversal(lender, loan, "A"))],
  ["a settlement by the lender", () => importBalance(0)],
  ["a new cycle", () => importBalance(200)],
  ["an end by an operator", () => closeCase(database.em(), order(), ENVIRONMENT)],
];

test("verifyBooks accepts the status and the holder of a case after each act on it", async () => {
  expect(await problems()).toEqual([]);
  for (const [act, perform] of LIFE) {
    await perform();
    expect([act, await problems()]).toEqual([act, []]);
  }
  const { cycle, status } = await currentCase(database, lender, loan);
  expect([cycle, status]).toEqual([2, "closed"]);
});

test("verifyBooks accepts a reopened case whose suspended field partner has lost it", async () => {
  await pay("A", 100);
  await transaction(database.em(), (tx) => suspendFieldPartner(tx, holder.id, new Date()));
  await reversed(database, aReversal(lender, loan, "A"));
  expect((await currentCase(database, lender, loan)).assignedFieldPartnerId).toBeNull();
  expect(await problems()).toEqual([]);
});

describe("verifyBooks reports a case", () => {
  test.each(["new", "in_progress", "closed", "withdrawn"])("with the forged status %s", async (status) => {
    await forge(`status = '${status}'`);
    expect(await problems()).toEqual([
      `CASE_UNLIKE_EVENTS: ${loan}: The case has the status ${status}; its last event, case.assigned with sequence 2, says "assigned".`,
    ]);
  });

  test("that was assigned to an accomplice", async () => {
    const accomplice = await aFieldPartner(database);
    await pay("A", 10);
    await forge(`assigned_field_partner_id = '${accomplice.id}'`);
    const [accompliceId, holderId] = [accomplice, holder].map(({ id }) => publicId("fp", id));
    expect(await problems()).toEqual([
      `CASE_UNLIKE_EVENTS: ${loan}: The case is assigned to ${accompliceId}; its last event about that, case.assigned with sequence 2, says "${holderId}".`,
    ]);
  });

  test("that was assigned without an event, or lost its field partner", async () => {
    await forge("assigned_field_partner_id = null");
    expect((await problems()).join()).toContain("The case is assigned to nobody");
    await forge(`assigned_field_partner_id = '${holder.id}'`);
    await unassignCase(database.em(), order(), ENVIRONMENT);
    await forge(`assigned_field_partner_id = '${holder.id}'`);
    expect((await problems()).join()).toContain("case.unassigned with sequence 3, says null.");
  });

  test("whose last event has no valid body", async () => {
    await withoutTriggers(database.pool, (client) =>
      client.query("update webhooks.event set body = '{' where source_loan_number = $1", [loan]),
    );
    expect(await problems()).toEqual([
      `CASE_UNLIKE_EVENTS: ${loan}: The case has the status assigned; its last event, case.assigned with sequence 2, says absent.`,
    ]);
  });
});

test("verifyBooks does not compare a case with events that retention has deleted", async () => {
  await pay("A", 10);
  const caseProblems = async () => (await problems()).filter((one) => one.startsWith("CASE"));
  const letGo = async (sequence: number) => {
    await database.pool.query("delete from webhooks.event where source_loan_number = $1 and sequence <= $2", [
      loan,
      sequence,
    ]);
    await database.pool.query(
      `insert into webhooks.let_go (lender_id, loan, sequence) values ($1, $2, $3)
       on conflict (lender_id, loan) do update set sequence = excluded.sequence`,
      [lender.id, loan, sequence],
    );
  };
  await letGo(2);
  await forge("assigned_field_partner_id = null");
  expect(await caseProblems()).toEqual([]);
  await forge("status = 'new'");
  expect((await caseProblems()).join()).toContain('payment.collected with sequence 3, says "in_progress".');
  await letGo(3);
  expect(await caseProblems()).toEqual([]);
});
