import { setImmediate as nextTurn } from "node:timers/promises";
import { AMOUNT_FIELDS, caseByLoan, lockCurrentCases } from "@collections/cases";
import { isDistributed, migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { createFieldPartner, type FieldPartner } from "@collections/field-partners";
import {
  assignCase,
  type Confirmation,
  confirmPayments,
  createConfirmer,
  importCases,
  onboardLender,
} from "@collections/flows";
import { createVault, type Lender } from "@collections/lenders";
import { AmountLiteral, parseJson } from "@collections/money";
import { parseAllowList } from "@collections/outbound";
import { lockLinksOfCase, recordMinted, requestLink } from "@collections/payment-links";
import { directUrl, testDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { aRow } from "../fixtures/fixture.ts";

const ENVIRONMENT = "sandbox";
const ON_ONE_POSTGRES = { statements: 14, roundTrips: 3 };
/**
 * The queries and round trips of a batch on a cluster: two queries and one round trip more than on one PostgreSQL. One
 * more query sends the settings of the transaction. The other is a DELETE on an empty table, which makes Citus commit
 * the jobs and the other rows in two phases. The additional round trip is for COMMIT. It is sent only after all answers
 * have arrived, because Citus reports missing rows only as a warning.
 */
const ON_CLUSTER = { statements: 16, roundTrips: 4 };
/**
 * The first notification is sent at once. Notifications that arrive while it is being sent are sent together
 * afterwards.
 */
const MAX_WAKE_UPS = 2;
const COMMIT = "commit";
const SELECT_PENDING = "earnings.pending";

interface Sent {
  readonly name: string | undefined;
  readonly text: string;
  readonly roundTrip: boolean;
}

let budget: { readonly statements: number; readonly roundTrips: number };
let database: Database;
let url: string;
let lender: Lender;
let fieldPartner: FieldPartner;
let loansMade = 0;

beforeAll(async () => {
  ({ url } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobsSchema, jobs: true });
  }));
  database = await createDatabase({ url, schemas, jobsSchema });
  budget = (await isDistributed(database.em())) ? ON_CLUSTER : ON_ONE_POSTGRES;
  const vault = createVault({ masterKey: "a".repeat(64) });
  const onboarding = { vault, allow: parseAllowList("127.0.0.1:*"), environment: ENVIRONMENT };
  const input = { code: "ACME", name: "Acme Finance", currency: "INR", commissionPercent: "2.5" };
  ({ lender } = await onboardLender(database.em(), onboarding, input));
  fieldPartner = await transaction(database.em(), (tx) =>
    createFieldPartner(tx, { displayName: "Asha Rao", phone: "+919800000002" }),
  );
});

afterAll(() => database.close());

/** Imports loans with 5,000 outstanding and assigns them to a field partner. */
async function loans(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, () => `LN-${(loansMade += 1)}`);
  const { rows } = parseJson(JSON.stringify({ rows: names.map((loan) => aRow(loan)) }), AMOUNT_FIELDS) as {
    rows: unknown[];
  };
  const result = await importCases(database.em(), { lender, rows, dryRun: false, atomic: true }, ENVIRONMENT);
  expect(result.success).toBe(true);
  for (const loan of names) {
    const order = { lender, loan, reason: null, fieldPartnerId: fieldPartner.id };
    expect(await assignCase(database.em(), order, ENVIRONMENT)).toMatchObject({ kind: "done" });
  }
  return names;
}

/** Creates a minted link on the loan's case, and returns the id that the lender gave to the link. */
async function linkOn(loan: string): Promise<string> {
  const linkId = `plink_${loan}`;
  const { id: caseId, currency } = (await caseByLoan(database.em(), lender.id, loan))!;
  const owner = { lenderId: lender.id, caseId, sourceLoanNumber: loan, fieldPartnerId: fieldPartner.id };
  await transaction(database.em(), async (tx) => {
    const now = new Date();
    const link = await requestLink(tx, { ...owner, visitId: newId(), amountMinor: 400_000n, currency }, now);
    const links = await lockLinksOfCase(tx, link);
    recordMinted(tx, links, { linkId, url: `https://pay.acme.example/${linkId}` }, now);
  });
  return linkId;
}

function payment(loan: string, fields: Partial<Confirmation> = {}): Confirmation {
  return {
    lender,
    loan,
    amount: new AmountLiteral("1000"),
    amountIsMajorUnits: false,
    reference: "pay_1",
    paidAt: new Date(),
    mode: "upi",
    rawMode: "upi",
    linkId: null,
    warnings: [],
    acceptedAt: new Date(),
    ...fields,
  };
}

/**
 * Books the batch and returns the queries of its transaction, up to the commit. Fails if any query other than a NOTIFY
 * is sent after the commit.
 */
async function queriesOf(batch: readonly Confirmation[]): Promise<Sent[]> {
  const sent: Sent[] = [];
  const observed = await createDatabase({ url, schemas, jobsSchema, onStatement: (statement) => sent.push(statement) });
  const outcomes = await confirmPayments(observed.em(), batch, ENVIRONMENT);
  await observed.close();
  expect(outcomes.map(({ kind }) => kind)).toEqual(batch.map(() => "booked"));
  const commit = sent.findIndex(({ text }) => text === COMMIT);
  const afterCommit = sent.slice(commit + 1);
  expect(afterCommit.filter(({ text }) => !text.includes("pg_notify"))).toEqual([]);
  expect(afterCommit.length).toBeLessThanOrEqual(MAX_WAKE_UPS);
  return sent.slice(0, commit + 1);
}

function budgetOf(statements: readonly Sent[]): { statements: number; roundTrips: number } {
  return { statements: statements.length, roundTrips: statements.filter(({ roundTrip }) => roundTrip).length };
}

describe("database work of a batch of confirmations", () => {
  test("takes three round trips (four on a cluster), both for one confirmation and for 32", async () => {
    const [first, ...others] = await loans(33);
    const one = await queriesOf([payment(first!)]);
    // Each of these references is looked up in two Unicode forms, by a single query.
    const many = await queriesOf(others.map((loan) => payment(loan, { reference: "re\u0301f_1" })));
    expect(one.map(({ name, text }) => name ?? text)).toEqual(many.map(({ name, text }) => name ?? text));
    expect(budgetOf(many)).toEqual(budgetOf(one));
    expect(budgetOf(one).roundTrips).toBe(budget.roundTrips);
  });

  test("books payments of one loan in one batch if they arrive while another payment of the loan is being booked", async () => {
    const [loan] = await loans(1);
    const batches: number[] = [];
    const onBatch = (size: number) => void batches.push(size);
    const confirm = createConfirmer({ em: () => database.em(), environment: ENVIRONMENT, onBatch });
    const first = confirm(payment(loan!));
    await nextTurn();
    const others = Array.from({ length: 31 }, (_, index) =>
      confirm(payment(loan!, { reference: `pay_beside_${index}` })),
    );
    const outcomes = await Promise.all([first, ...others]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => "booked"));
    expect(batches).toEqual([1, 31]);
  });

  test("rejects a payment of an unknown loan in one transaction, with as many round trips as a booking takes", async () => {
    const sent: Sent[] = [];
    const observed = await createDatabase({
      url,
      schemas,
      jobsSchema,
      onStatement: (statement) => sent.push(statement),
    });
    const confirm = createConfirmer({ em: () => observed.em(), environment: ENVIRONMENT });
    const outcome = await confirm(payment("LN-never-imported"));
    await observed.close();
    expect(outcome).toMatchObject({ kind: "refused", code: "LOAN_NOT_FOUND" });
    expect(sent.filter(({ text }) => text === COMMIT)).toHaveLength(1);
    expect(sent.filter(({ name }) => name?.startsWith("cases.lock-"))).toHaveLength(1);
    expect(budgetOf(sent).roundTrips).toBe(budget.roundTrips);
  });

  test("rejects a payment of an unknown loan at once while another payment waits for its locked loan", async () => {
    const [loan] = await loans(1);
    const confirm = createConfirmer({ em: () => database.em(), environment: ENVIRONMENT });
    const holding = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const holder = transaction(database.em(), async (tx) => {
      await lockCurrentCases(tx, [{ lenderId: lender.id, loan: loan! }]);
      held.resolve();
      await holding.promise;
    });
    await held.promise;
    const waiting = confirm(payment(loan!));
    expect(await confirm(payment("LN-never-imported"))).toMatchObject({ code: "LOAN_NOT_FOUND" });
    holding.resolve();
    await holder;
    expect(await waiting).toMatchObject({ kind: "booked" });
  });

  test("reads pending earnings only if a payment may end its case, because a loan paid in many parts has many earnings", async () => {
    const [loan] = await loans(1);
    const sentBy = async (reference: string, amount: string) =>
      (await queriesOf([payment(loan!, { reference, amount: new AmountLiteral(amount) })])).map(({ name }) => name);
    expect(await sentBy("pay_part", "4999")).not.toContain(SELECT_PENDING);
    expect(await sentBy("pay_rest", "1")).toContain(SELECT_PENDING);
    expect(await sentBy("pay_excess", "1")).toContain(SELECT_PENDING);
  });

  test("takes 14 SQL queries (16 on a cluster) if every payment has a link, clears its case and credits earnings", async () => {
    const names = await loans(33);
    await queriesOf(names.map((loan) => payment(loan)));
    const clearing: Confirmation[] = [];
    for (const loan of names) {
      const fields = { reference: "pay_2", amount: new AmountLiteral("4000"), linkId: await linkOn(loan) };
      clearing.push(payment(loan, fields));
    }
    const [first, ...others] = clearing;
    const one = budgetOf(await queriesOf([first!]));
    expect(one).toEqual(budget);
    expect(budgetOf(await queriesOf(others))).toEqual(one);
    expect(await caseByLoan(database.em(), lender.id, names.at(-1)!)).toMatchObject({ status: "collected" });
  });
});

/** How often PostgreSQL plans a prepared query for its values before it compares that with a plan for all values. */
const FIRST_PLANS = 5;

// Planning takes longer than most of these queries.
test(
  "PostgreSQL does not plan the queries of a confirmation again, whether a batch has one confirmation or 32",
  { tags: "one-node-plan" },
  async () => {
    const oneConnection = await createDatabase({ url: directUrl(url), schemas, jobsSchema, poolMax: 1 });
    const names = await loans(32);
    for (const loansOfBatch of [names.slice(0, 1), names]) {
      for (let round = 0; round < 12; round += 1) {
        const batch = loansOfBatch.map((loan) =>
          payment(loan, { amount: new AmountLiteral("1"), reference: `plan_${loansOfBatch.length}_${round}` }),
        );
        await confirmPayments(oneConnection.em(), batch, ENVIRONMENT);
      }
    }
    const { rows } = await oneConnection.pool.query<{ name: string; generic: number; custom: number }>(
      "select name, generic_plans::int as generic, custom_plans::int as custom from pg_prepared_statements",
    );
    await oneConnection.close();
    const repeated = rows.filter(({ generic, custom }) => generic + custom >= 24);
    expect(repeated.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["cases.lock-current", "cases.write-payments", "ledger.bookings-for"]),
    );
    expect(repeated.filter(({ custom }) => custom > FIRST_PLANS)).toEqual([]);
  },
);
