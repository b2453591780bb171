import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { AMOUNT_FIELDS, type Case, caseByLoan } from "@collections/cases";
import { migrate, transaction } from "@collections/database";
import { createDatabase, type Database, type DatabaseOptions, type Tx } from "@collections/entities";
import { createFieldPartner, type FieldPartner } from "@collections/field-partners";
import { createVault, type IssuedKey, type Lender, type NewLender } from "@collections/lenders";
import { AmountLiteral, parseJson } from "@collections/money";
import { parseAllowList } from "@collections/outbound";
import { ANSWER_LIMIT_MS, directUrl, testDatabase } from "@collections/testing";
import { eventsOf } from "@collections/webhooks";
import { afterAll } from "vitest";
import { assignCase } from "../src/case/change-case.ts";
import type { Confirmation } from "../src/payment/confirmation.ts";
import { importCases } from "../src/case/import-cases.ts";
import { onboardLender } from "../src/onboard-lender.ts";
import { SCHEMAS } from "./schemas.ts";

export const ENVIRONMENT = "sandbox";

/** The address at which lender twins and other test servers listen. */
export const ALLOW = parseAllowList("127.0.0.1:*");

export const VAULT = createVault({ masterKey: "a1".repeat(32) });

/**
 * Opens a migrated database with pg-boss for this test file, and closes it after the tests. Call it at the top level.
 */
export async function flowsDatabase(options: Partial<DatabaseOptions> = {}): Promise<Database> {
  return openDatabase(await flowsDatabaseUrl(), options);
}

/** Creates a migrated database for this test file and returns its URL. */
export async function flowsDatabaseUrl(): Promise<string> {
  const { url } = await testDatabase("flows", async (at) => {
    await migrate({ url: at, schemas: SCHEMAS, jobs: true });
  });
  return url;
}

/** Opens a database again, as another process would, and closes it after the tests. */
export async function openDatabase(url: string, options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = await createDatabase({
    url,
    directUrl: directUrl(url),
    schemas: SCHEMAS,
    answerTimeoutMs: ANSWER_LIMIT_MS,
    ...options,
  });
  // Many calls at once wait for a client of the pool, which takes long on a slow machine.
  database.pool.options.connectionTimeoutMillis = 300_000;
  afterAll(() => database.close());
  return database;
}

/** Calls a flow in a transaction of its own. */
export function inTransaction<Input extends unknown[], Outcome>(
  database: Database,
  flow: (tx: Tx, ...input: Input) => Promise<Outcome>,
  ...input: Input
): Promise<Outcome> {
  return transaction(database.em(), (tx) => flow(tx, ...input));
}

/** Creates a lender. Its currency is INR by default. */
export function aLender(
  database: Database,
  given: Partial<NewLender> & { callbackUrl?: string } = {},
): Promise<{ lender: Lender } & IssuedKey> {
  const onboarding = { vault: VAULT, allow: ALLOW, environment: ENVIRONMENT };
  const code = `L${randomInt(1e12)}`;
  return onboardLender(database.em(), onboarding, { code, name: "Acme Finance", currency: "INR", ...given });
}

/** Creates a field partner with a new phone number. */
export function aFieldPartner(database: Database): Promise<FieldPartner> {
  const phone = `+9198${String(randomInt(1e8)).padStart(8, "0")}`;
  return transaction(database.em(), (tx) => createFieldPartner(tx, { displayName: "Asha Rao", phone }));
}

/**
 * Creates a case of a new loan with 5,000 outstanding, assigned to `fieldPartner` if given. `row` extends its import
 * row.
 */
export async function aCase(
  database: Database,
  lender: Lender,
  { fieldPartner, row = {} }: { fieldPartner?: FieldPartner; row?: object } = {},
): Promise<Case> {
  const loan = `LN/${randomInt(1e12)}`;
  await importRow(database, lender, { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 5_000, ...row });
  if (fieldPartner) {
    const order = { lender, loan, reason: null, fieldPartnerId: fieldPartner.id };
    const { kind } = await assignCase(database.em(), order, ENVIRONMENT);
    assert.equal(kind, "done");
  }
  return currentCase(database, lender, loan);
}

/** Reads the loan's current case. */
export async function currentCase(database: Database, { id }: Lender, loan: string): Promise<Case> {
  const found = await caseByLoan(database.em(), id, loan);
  assert(found);
  return found;
}

/** Imports one row. */
export async function importRow(database: Database, lender: Lender, row: object): Promise<void> {
  const { rows } = parseJson(JSON.stringify({ rows: [row] }), AMOUNT_FIELDS) as { rows: unknown[] };
  const { success, results } = await importCases(
    database.em(),
    { lender, rows, dryRun: false, atomic: false },
    ENVIRONMENT,
  );
  assert(success, JSON.stringify(results));
}

/** Returns a confirmation of 2,500 on the case's loan, with a new reference. */
export function aConfirmation(
  { id, code }: Pick<Lender, "id" | "code">,
  { sourceLoanNumber }: Pick<Case, "sourceLoanNumber">,
  given: Partial<Confirmation> = {},
): Confirmation {
  return {
    lender: { id, code },
    loan: sourceLoanNumber,
    amount: new AmountLiteral("2500"),
    amountIsMajorUnits: false,
    reference: `pay_${randomInt(1e12)}`,
    paidAt: new Date(),
    mode: "upi",
    rawMode: "upi",
    linkId: null,
    warnings: [],
    acceptedAt: new Date(),
    ...given,
  };
}

/** Returns the parsed bodies of a loan's events, in the order of their sequence. */
export async function eventsOfLoan(
  database: Database,
  { lenderId, sourceLoanNumber }: Pick<Case, "lenderId" | "sourceLoanNumber">,
): Promise<EventBody[]> {
  const events = await eventsOf(database.em(), lenderId, sourceLoanNumber);
  return events.map(({ body }) => JSON.parse(body) as EventBody);
}

/** The envelope of an event. contract: Events */
export interface EventBody {
  readonly eventId: string;
  readonly kind: string;
  readonly caseId: string;
  readonly cycle: number;
  readonly sequence: number;
  readonly status: string;
  readonly totalCollected: number;
  readonly outstandingAfter: number;
  readonly data: Record<string, unknown>;
}

export const BORROWER = {
  borrowerName: "Ravi Kumar",
  borrowerPhone: "+919800000001",
  borrowerEmail: "ravi@example.com",
};
