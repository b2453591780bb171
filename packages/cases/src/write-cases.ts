import { query, send, type Statement, statement, type Tx } from "@collections/database";
import { type CaseProperty, columnOf, columnTypeOf, IMPORTED_PROPERTIES } from "./case-columns.ts";
import type { ImportedCase, LockedCase } from "./locked-case.ts";

/** What a confirmation changes. No index names one of these columns, so that the update stays heap-only. */
const PAYMENT_PROPERTIES = [
  "status",
  "statusReason",
  "statusBeforeHold",
  "fieldWork",
  "blockedAt",
  "workBegun",
  "outstandingMinor",
  "totalCollectedMinor",
  "excessMinor",
  "lastPaymentAt",
  "sequence",
  "closedAt",
  "closeReason",
] as const satisfies readonly (keyof LockedCase)[];

/** What any other work on a case changes: an assignment, a visit, a link, a hold, its end by hand. */
const STATE_PROPERTIES = [
  "status",
  "statusReason",
  "statusBeforeHold",
  "fieldWork",
  "blockedAt",
  "workBegun",
  "settledByLender",
  "assignedFieldPartnerId",
  "lastVisitId",
  "lastDisposition",
  "sequence",
  "closedAt",
  "closeReason",
] as const satisfies readonly (keyof LockedCase)[];

const KEY_PROPERTIES = ["lenderId", "id"] as const;

const writePayments = statement("cases.write-payments", unnestUpdate(PAYMENT_PROPERTIES));
const writeStates = statement("cases.write-states", unnestUpdate(STATE_PROPERTIES));

const updateImported = statement(
  "cases.update-imported",
  `update cases.collection_case c
   set ${IMPORTED_PROPERTIES.filter((property) => !(KEY_PROPERTIES as readonly string[]).includes(property))
     .map((property) => `${columnOf(property)} = v.${columnOf(property)}`)
     .join(", ")}, updated_at = $2::timestamptz
   from jsonb_to_recordset($1::jsonb) as v (${recordColumns(IMPORTED_PROPERTIES)})
   where c.lender_id = v.lender_id and c.id = v.id`,
);

const insertImported = statement(
  "cases.insert-imported",
  `insert into cases.collection_case (${IMPORTED_PROPERTIES.map(columnOf).join(", ")}, created_at, updated_at)
   select ${IMPORTED_PROPERTIES.map((property) => `v.${columnOf(property)}`).join(", ")}, $2::timestamptz, $2::timestamptz
   from jsonb_to_recordset($1::jsonb) as v (${recordColumns(IMPORTED_PROPERTIES)})
   order by v.lender_id, v.source_loan_number
   on conflict do nothing
   returning id`,
);

const retire = statement(
  "cases.retire",
  `update cases.collection_case c set is_current = false
   from unnest($1::uuid[], $2::uuid[]) as v (lender_id, id)
   where c.lender_id = v.lender_id and c.id = v.id`,
);

/** Writes what payments changed on locked cases. Several payments of one case are folded first: one entry a case. */
export function writeCases(tx: Tx, casesAfter: readonly LockedCase[], now: Date): void {
  sendUpdate(tx, writePayments, PAYMENT_PROPERTIES, casesAfter, now);
}

/** Writes what other work changed on locked cases: everything of their state, nothing of their money. */
export function writeCaseStates(tx: Tx, casesAfter: readonly LockedCase[], now: Date): void {
  sendUpdate(tx, writeStates, STATE_PROPERTIES, casesAfter, now);
}

/** Writes what import rows changed on locked cases: details, balance and state. */
export function writeImportedCases(tx: Tx, casesAfter: readonly ImportedCase[], now: Date): void {
  if (casesAfter.length > 0) send(tx, updateImported, [asRecords(casesAfter), now.toISOString()]);
}

/**
 * Makes new cases; the locked cases that they replace stop being current first. Answers with the new cases that were
 * not made because another transaction has just made a case of the same loan: lock it and plan the row again.
 */
export async function insertCases(
  tx: Tx,
  newCases: readonly ImportedCase[],
  replaced: readonly LockedCase[],
  now: Date,
): Promise<ImportedCase[]> {
  if (newCases.length === 0) return [];
  if (replaced.length > 0)
    send(
      tx,
      retire,
      KEY_PROPERTIES.map((property) => replaced.map((old) => old[property])),
    );
  const rows = await query<{ id: string }>(tx, insertImported, [asRecords(newCases), now.toISOString()]);
  const made = new Set(rows.map(({ id }) => id));
  return newCases.filter(({ id }) => !made.has(id));
}

function sendUpdate(
  tx: Tx,
  update: Statement,
  properties: readonly (keyof LockedCase)[],
  casesAfter: readonly LockedCase[],
  now: Date,
): void {
  if (casesAfter.length === 0) return;
  const columns = [...KEY_PROPERTIES, ...properties].map((property) =>
    casesAfter.map((theCase) => parameterOf(theCase[property])),
  );
  send(tx, update, [...columns, now.toISOString()]);
}

function unnestUpdate(properties: readonly CaseProperty[]): string {
  const all = [...KEY_PROPERTIES, ...properties];
  return `update cases.collection_case c
    set ${properties.map((property) => `${columnOf(property)} = v.${columnOf(property)}`).join(", ")},
      updated_at = $${all.length + 1}::timestamptz
    from unnest(${all.map((property, index) => `$${index + 1}::${columnTypeOf(property)}[]`).join(", ")})
      as v (${all.map(columnOf).join(", ")})
    where c.lender_id = v.lender_id and c.id = v.id`;
}

function recordColumns(properties: readonly CaseProperty[]): string {
  return properties.map((property) => `${columnOf(property)} ${columnTypeOf(property)}`).join(", ");
}

/** The cases as one JSON array of rows by column name; bigint as text, which PostgreSQL reads as the number it is. */
function asRecords(cases: readonly ImportedCase[]): string {
  const records = cases.map((theCase) =>
    Object.fromEntries(IMPORTED_PROPERTIES.map((property) => [columnOf(property), theCase[property]])),
  );
  return JSON.stringify(records, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

function parameterOf(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return value instanceof Date ? value.toISOString() : value;
}
