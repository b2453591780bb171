import { BEFORE_ALL_IDS, lenderInsert, query, send, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { insertRows } from "./insert-rows.ts";
import type { BookedPayment, Leftover, ReconciliationWindow, ReportedPayment } from "./comparison.ts";
import type { LoanLeftovers, LoanPayment } from "./pair-on-loan.ts";
import { aDayAround, BOOKED_PAYMENT, idOfPosition, type RunKey } from "./reconciliation-row.ts";

/**
 * A row or a payment that has no counterpart with the same loan and reference, until a run has compared it with the others
 * of its loan. A run inserts and deletes these rows in one transaction.
 */
export const ReconciliationLeftoverEntity = defineEntity({
  name: "ReconciliationLeftover",
  schema: "ledger",
  tableName: "reconciliation_leftover",
  properties: {
    lenderId: p.uuid().primary(),
    runId: p.uuid().primary(),
    loan: p.text().primary(),
    /** The id of the booking, or an id made from the position of the row. */
    id: p.uuid().primary(),
    /** `row` of a pair has `pairedWith`. */
    kind: p.text().$type<"row" | "payment" | "taken">(),
    reference: p.text(),
    position: p.integer().strictNullable(),
    amountMinor: p.bigint(),
    reversedMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    paidAt: p.datetime().columnType("timestamptz").strictNullable(),
    mode: p.text().strictNullable(),
    isLoanKnown: p.boolean(),
    /** For a row of a pair: the id of its payment. */
    pairedWith: p.uuid().strictNullable(),
  },
});
type Stored = InferEntity<typeof ReconciliationLeftoverEntity>;

/** The leftovers of one loan. */
export interface LeftoversOfLoan extends LoanLeftovers {
  readonly loan: string;
  /** The loan has more leftovers than can be compared. They come in pieces. */
  readonly isOverLimit: boolean;
}

const ITEMS_A_PAGE = 2_000;
/** The maximum number of leftovers of one loan that are compared with each other. It bounds the memory. */
const MOST_OF_A_LOAN = 20_000;
/** Loans whose distant payments are read by one query. */
const LOANS_A_PAGE = 200;

/** The number of leftovers that are kept in memory. If there are more, all are stored in the database. */
const MOST_IN_MEMORY = 10_000;

/**
 * The leftovers of a run, in memory or, if they are many, in the database.
 *
 * @example
 * const leftovers = new LeftoverSpool(tx, { lenderId, runId });
 * leftovers.add(comparison.take().leftovers);
 * for await (const loans of leftovers.byLoan(window)) console.log(loans.length);
 */
export class LeftoverSpool {
  readonly #tx: Tx;
  readonly #run: RunKey;
  #held: Stored[] | undefined = [];

  constructor(tx: Tx, run: RunKey) {
    this.#tx = tx;
    this.#run = run;
  }

  add(leftovers: readonly Leftover[]): void {
    const stored = leftovers.flatMap((leftover) => storedOf(this.#run, leftover));
    if (stored.length === 0) return;
    if (this.#held && this.#held.length + stored.length <= MOST_IN_MEMORY) {
      this.#held.push(...stored);
      return;
    }
    const all = [...(this.#held ?? []), ...stored];
    this.#held = undefined;
    const { lenderId } = this.#run;
    insertRows(this.#tx, insertLeftovers, table, { lenderId, rows: all, properties: INSERTED });
  }

  /**
   * Yields the leftovers loan by loan, in pages of some hundred loans. Each loan has the payments of all days: those outside
   * the window and a day around it are read here. Stored leftovers are deleted.
   */
  async *byLoan(window: ReconciliationWindow): AsyncGenerator<LeftoversOfLoan[]> {
    let loans: StoredLoan[] = [];
    let items = 0;
    const pages = this.#held ? [this.#held.toSorted(byLoanAndId)] : storedPages(this.#tx, this.#run);
    for await (const loan of loansOf(pages)) {
      loans.push(loan);
      items += loan.items.length;
      if (loans.length < LOANS_A_PAGE && items < MOST_OF_A_LOAN) continue;
      yield await withDistantPayments(this.#tx, this.#run, window, loans);
      [loans, items] = [[], 0];
    }
    if (loans.length > 0) yield await withDistantPayments(this.#tx, this.#run, window, loans);
  }
}

/**
 * Tells whether a lender has confirmed a payment as a part of another one.
 *
 * @example
 * if (await hasParts(tx, lenderId)) console.log("Payments are compared together with their parts.");
 */
export async function hasParts(tx: Tx, lenderId: string): Promise<boolean> {
  const [found] = await query<{ hasParts: boolean }>(tx, selectHasParts, [lenderId]);
  return found!.hasParts;
}

/**
 * Returns the ids of those payments that have parts.
 *
 * @example
 * const payments = items.flatMap((item) => ("payment" in item ? [item.payment] : []));
 * const ids = await paymentsWithParts(tx, lenderId, payments);
 */
export async function paymentsWithParts(
  tx: Tx,
  lenderId: string,
  payments: readonly BookedPayment[],
): Promise<ReadonlySet<string>> {
  if (payments.length === 0) return new Set();
  const [ids, loans, references] = [
    payments.map(({ bookingId }) => bookingId),
    payments.map(({ loan }) => loan),
    payments.map(({ reference }) => reference),
  ];
  const found = await query<{ id: string }>(tx, selectWithParts, [lenderId, ids, loans, references]);
  return new Set(found.map(({ id }) => id));
}

/** The leftovers of one loan as they are stored, or a piece of them. */
interface StoredLoan {
  readonly loan: string;
  readonly items: Stored[];
  readonly isOverLimit: boolean;
}

async function* storedPages(tx: Tx, { lenderId, runId }: RunKey): AsyncGenerator<readonly Stored[]> {
  let after: readonly string[] = ["", BEFORE_ALL_IDS];
  for (;;) {
    const page = await query<Stored>(tx, selectLeftovers, [lenderId, runId, ...after, ITEMS_A_PAGE]);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    send(tx, deleteLeftovers, [lenderId, runId, ...after, last.loan, last.id]);
    after = [last.loan, last.id];
  }
}

async function* loansOf(
  pages: Iterable<readonly Stored[]> | AsyncIterable<readonly Stored[]>,
): AsyncGenerator<StoredLoan> {
  let current: StoredLoan | undefined;
  for await (const page of pages) {
    for (const item of page) {
      const isSame = current?.loan === item.loan;
      // A loan over the limit comes in pieces.
      if (!isSame || current!.items.length >= MOST_OF_A_LOAN) {
        if (current) yield { ...current, isOverLimit: current.isOverLimit || isSame };
        current = { loan: item.loan, items: [], isOverLimit: isSame };
      }
      current!.items.push(item);
    }
  }
  if (current) yield current;
}

async function withDistantPayments(
  tx: Tx,
  { lenderId }: RunKey,
  window: ReconciliationWindow,
  loans: readonly StoredLoan[],
): Promise<LeftoversOfLoan[]> {
  const { from, to } = aDayAround(window);
  const names = [...new Set(loans.map(({ loan }) => loan))];
  const found = await query<LoanPayment>(tx, selectOfLoans, [lenderId, names, from.toISOString(), to.toISOString()]);
  const byLoan = Map.groupBy(
    found.filter(({ amountMinor, reversedMinor }) => amountMinor > reversedMinor),
    ({ loan }) => loan,
  );
  return loans.map(({ loan, items, isOverLimit }) => {
    const read = byLoan.get(loan) ?? [];
    const partOf = new Map(read.map((payment) => [payment.bookingId, payment.partOf]));
    const isStored = new Set(items.filter(({ kind }) => kind !== "row").map(({ id }) => id));
    const stored = new Map(items.filter(({ kind }) => kind === "payment").map((item) => [item.id, paymentOf(item)]));
    const rows = items.filter(({ kind }) => kind === "row");
    const pairs = rows.flatMap((row) => {
      const payment = row.pairedWith === null ? undefined : stored.get(row.pairedWith);
      return payment ? [{ row: rowOf(row), payment }] : [];
    });
    const paired = new Set(pairs.map(({ payment }) => payment.bookingId));
    const near = [...stored.values()].filter(({ bookingId }) => !paired.has(bookingId));
    const distant = read.filter(({ bookingId, paidAt }) => !isStored.has(bookingId) && (paidAt < from || paidAt >= to));
    return {
      loan,
      isOverLimit,
      rows: rows.filter(({ pairedWith }) => pairedWith === null).map(rowOf),
      pairs,
      payments: [...near.map((payment) => ({ ...payment, partOf: partOf.get(payment.bookingId) ?? null })), ...distant],
    };
  });
}

function storedOf(run: RunKey, leftover: Leftover): Stored[] {
  if (leftover.kind === "row") return [storedRow(run, leftover.row, null)];
  const payment = storedPayment(run, leftover.payment, leftover.kind === "taken" ? "taken" : "payment");
  if (leftover.kind !== "pair") return [payment];
  return [storedRow(run, leftover.row, leftover.payment.bookingId), payment];
}

function byLoanAndId(one: Stored, other: Stored): number {
  if (one.loan !== other.loan) return one.loan < other.loan ? -1 : 1;
  return one.id < other.id ? -1 : 1;
}

function storedRow(run: RunKey, row: ReportedPayment, pairedWith: string | null): Stored {
  return { ...run, ...row, id: idOfPosition(row.position), kind: "row", reversedMinor: 0n, pairedWith };
}

function storedPayment(run: RunKey, { bookingId, ...payment }: BookedPayment, kind: "payment" | "taken"): Stored {
  return { ...run, ...payment, id: bookingId, kind, position: null, mode: null, isLoanKnown: true, pairedWith: null };
}

function rowOf({
  position,
  loan,
  reference,
  amountMinor,
  currency,
  paidAt,
  mode,
  isLoanKnown,
}: Stored): ReportedPayment {
  return { position: position!, loan, reference, amountMinor, currency, paidAt, mode, isLoanKnown };
}

function paymentOf({ id, loan, reference, amountMinor, reversedMinor, currency, paidAt }: Stored): BookedPayment {
  return { bookingId: id, loan, reference, amountMinor, reversedMinor, currency, paidAt: paidAt! };
}

const table = tableOf(ReconciliationLeftoverEntity);
const INSERTED = table.properties.filter((property) => property !== "lenderId");

const insertLeftovers = lenderInsert("ledger.stage-leftovers", {
  table: table.name,
  columns: table.insertedTypes(INSERTED),
});

export const selectLeftovers = statement(
  "ledger.staged-leftovers",
  `select ${table.selectList("r")} from ${table.name} r
   where r.lender_id = $1 and r.run_id = $2 and (r.loan, r.id) > ($3, $4)
   order by r.loan, r.id limit (select $5::bigint)`,
);

export const deleteLeftovers = statement(
  "ledger.delete-staged-leftovers",
  `delete from ${table.name}
   where lender_id = $1 and run_id = $2 and (loan, id) > ($3, $4) and (loan, id) <= ($5, $6)`,
);

export const selectHasParts = statement(
  "ledger.has-parts",
  `select exists (
     select 1 from ledger.payment_booking b where b.lender_id = $1 and b.part_of is not null
   ) as "hasParts"`,
);

// `normalize` is not applied to `part_of`, so that the index on loan and part is used: confirmations store it in NFC.
export const selectWithParts = statement(
  "ledger.payments-with-parts",
  `select k.id from unnest($2::uuid[], $3::text[], $4::text[]) as k (id, loan, reference)
   where exists (
     select 1 from ledger.payment_booking q
     where q.lender_id = $1 and q.source_loan_number = k.loan and q.part_of = k.reference
   )`,
);

export const selectOfLoans = statement(
  "ledger.payments-of-loans",
  `select ${BOOKED_PAYMENT}, b.part_of as "partOf"
   from unnest($2::text[]) as k (loan)
   cross join lateral (
     select * from ledger.payment_booking p
     where p.lender_id = $1 and p.source_loan_number = k.loan
       and (p.paid_at < $3 or p.paid_at >= $4 or p.part_of is not null)
     offset 0
   ) b`,
);
