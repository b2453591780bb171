import {
  BEFORE_ALL_IDS,
  forLenders,
  insertFor,
  joinedRows,
  lenderStatement,
  query,
  send,
  statement,
} from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { appendOnlyTable } from "@collections/ledger";
import type { CurrencyCode } from "@collections/money";
import { type BookingWarning, PaymentReversalEntity, type ReappliedExcess, type ReversalReason } from "../schema.ts";
import type { AppliedExcess } from "./applied-excess.ts";
import { type Booking, bookings, type PaymentsAfterKey } from "./booking.ts";

/**
 * The reasons of a reversal.
 *
 * @example
 * const help = `The reason is one of ${REVERSAL_REASONS.join(", ")}.`;
 */
export const REVERSAL_REASONS = [
  "bank_reversed",
  "chargeback",
  "bounced",
  "duplicate",
  "wrong_loan",
  "entered_by_mistake",
  "other",
] as const satisfies readonly ReversalReason[];

/** The reasons that say that the money never was on this loan. Other reasons are of money that came and went. */
const MISTAKES: ReadonlySet<ReversalReason> = new Set(["duplicate", "wrong_loan", "entered_by_mistake"]);

/**
 * Tells whether a reversal says that the payment never was on this loan. Its amount then counts as if it had never been
 * paid: it is owed again only if the payment is later than the newest balance.
 *
 * @example
 * const cameAndWent = !isMistake(reversal.reason);
 */
export function isMistake(reason: ReversalReason): boolean {
  return MISTAKES.has(reason);
}

/**
 * The reversal of a payment or of a part of it, and the outcome of recording it, in minor units. A repeated call is
 * answered with the same reversal.
 */
export interface Reversal {
  readonly lenderId: string;
  readonly id: string;
  /** The booking of the payment. */
  readonly bookingId: string;
  readonly sourceLoanNumber: string;
  /** The lender's id of the payment. */
  readonly reference: string;
  /** The lender's id of the reversal. Together with the loan it is the idempotency key, and it never expires. */
  readonly reversalReference: string;
  /** The case of the payment, which may be of an earlier cycle. */
  readonly caseId: string;
  readonly cycle: number;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly reversedAt: Date;
  readonly reason: ReversalReason;
  /** A text of the lender. It must not contain personal data, because it can never be erased. */
  readonly note: string | null;
  /** The part that was taken from the applied part of the payment. With `excessMinor` it adds up to `amountMinor`. */
  readonly appliedMinor: bigint;
  /** The part that was taken from the payment's own excess. It is taken first. */
  readonly excessMinor: bigint;
  /** Whether the newest balance already included this reversal. Then the outstanding amount did not change. */
  readonly inBalance: boolean;
  /**
   * The adjustment that was posted on the payment's case, with its sign: the growth of the outstanding amount, minus
   * `appliedMinor`, plus the reapplied excess. It is `-appliedMinor` if the outstanding amount of that case did not change.
   */
  readonly adjustmentMinor: bigint;
  /** The excess of other payments that was applied to the amount that is owed again, the oldest payment first. */
  readonly reapplied: readonly ReappliedExcess[];
  /** The amounts and the status of the case after the reversal. */
  readonly outstandingAfterMinor: bigint;
  /** Everything captured on the case minus everything reversed, with excess. */
  readonly totalCollectedAfterMinor: bigint;
  readonly totalReversedAfterMinor: bigint;
  readonly excessAfterMinor: bigint;
  readonly statusAfter: string;
  readonly sequence: bigint;
  readonly warnings: readonly BookingWarning[];
  readonly recordedAt: Date;
  /**
   * The loan's current case, if the payment is of an earlier cycle. The reversed amount is then owed on this case, and the
   * amounts and the status after the reversal are those of this case. Otherwise null.
   */
  readonly currentCaseId: string | null;
  /** The adjustment that was posted on `currentCaseId`, at least 0; null without such a case. */
  readonly currentAdjustmentMinor: bigint | null;
}

/** The key of a reversal. */
export interface ReversalKey {
  readonly lenderId: string;
  readonly loan: string;
  readonly reversalReference: string;
}

/** The applied part and the excess of a payment after its reversals, in minor units. */
export interface RemainingPayment {
  readonly appliedMinor: bigint;
  readonly excessMinor: bigint;
}

export const reversals = appendOnlyTable(tableOf(PaymentReversalEntity));

/**
 * Inserts a reversal. If its (lender, loan, reversalReference) is already recorded, the transaction fails with a unique
 * violation. The caller then reads the reversal again. Post the `reversalPostings` in the same transaction.
 *
 * @example
 * recordReversal(tx, reversal);
 * const transfers = await transfersOfBookings(tx, reversal, [reversal.bookingId]);
 * postTransfers(tx, reversalPostings(reversal, transfers, null));
 */
export function recordReversal(tx: Tx, reversal: Reversal): void {
  send(tx, ...insertFor(tx, reversals.insert, reversals.values([reversal])));
}

/**
 * Returns the reversals that exist for the keys, in no particular order.
 *
 * @example
 * const key = { lenderId, loan: "LN-2026-00417", reversalReference: "RV-77" };
 * const [original] = await reversalsFor(tx, [key]);
 * if (original) console.log(`Recorded before, on ${original.recordedAt.toISOString()}.`);
 */
export async function reversalsFor(em: EntityManager | Tx, keys: readonly ReversalKey[]): Promise<Reversal[]> {
  if (keys.length === 0) return [];
  const lenderIds = keys.map(({ lenderId }) => lenderId);
  const [loans, references] = [keys.map(({ loan }) => loan), keys.map((key) => key.reversalReference)];
  return query(em, ...forLenders(selectReversals, [lenderIds, loans, references]));
}

/**
 * Returns all reversals of a loan over all its cycles, in the order of their sequence.
 *
 * @example
 * const reversals = await reversalsOf(em, lenderId, "LN-2026-00417");
 * const reversedMinor = reversals.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
 */
export async function reversalsOf(em: EntityManager | Tx, lenderId: string, loan: string): Promise<Reversal[]> {
  return query(em, selectOfLoan, [lenderId, loan]);
}

/** Payments of a loan with their reversals. */
export interface PaymentsWithReversals {
  /** Newest first. */
  readonly payments: readonly Booking[];
  /** The reversals of `payments`, newest first. */
  readonly reversals: readonly Reversal[];
}

/**
 * Returns the latest payments of a loan over all its cycles, with their reversals, in one query.
 *
 * @example
 * const { payments, reversals } = await paymentsWithReversals(em, lenderId, "LN-2026-00417", 20);
 * const ofPayment = Map.groupBy(reversals, ({ bookingId }) => bookingId);
 */
export async function paymentsWithReversals(
  em: EntityManager,
  lenderId: string,
  loan: string,
  limit = 50,
): Promise<PaymentsWithReversals> {
  const rows = await query<Record<string, unknown>>(em, selectPaymentsWithReversals, [lenderId, loan, limit]);
  const reversed = joinedRows<Reversal>(rows, "reversal.");
  return {
    payments: joinedRows<Booking>(rows, "payment.", "id"),
    reversals: reversed.toSorted((a, b) => (a.sequence < b.sequence ? 1 : -1)),
  };
}

/** A reversal, and the amount of the payment that it reverses wholly or in part. */
export type ReversalOfPayment = Reversal & { readonly paidMinor: bigint };

/**
 * Returns the reversals of many loans over all their cycles, each with the amount of its payment, in the order of their
 * sequence in each loan. The loans may belong to several lenders.
 *
 * @example
 * for (const { amountMinor, paidMinor, reason } of await reversalsWithPayments(em, [{ lenderId, loan: "LN-2026-00417" }])) {
 *   console.log(`${amountMinor} of ${paidMinor}: ${reason}`);
 * }
 */
export async function reversalsWithPayments(
  em: EntityManager | Tx,
  loans: readonly Pick<ReversalKey, "lenderId" | "loan">[],
): Promise<ReversalOfPayment[]> {
  if (loans.length === 0) return [];
  return query(em, selectWithPayments, [loans.map(({ lenderId }) => lenderId), loans.map(({ loan }) => loan)]);
}

/**
 * Returns all reversals of these loans of a lender over all cycles, in the order of their sequence.
 *
 * @example
 * const reversals = await reversalsOfLoans(em, lenderId, ["LN-2026-00417", "LN-2026-00418"]);
 * const ofPayment = Map.groupBy(reversals, ({ bookingId }) => bookingId);
 */
export async function reversalsOfLoans(
  em: EntityManager | Tx,
  lenderId: string,
  loans: readonly string[],
): Promise<Reversal[]> {
  return loans.length === 0 ? [] : query(em, selectOfLoans, [lenderId, loans]);
}

/**
 * Returns the reversals of each loan that happened later than the key's `after`, in the order of their sequence. A
 * balance as of that time does not include them.
 *
 * @example
 * const outstandingAsOf = new Date("2026-11-20T00:00:00Z");
 * const later = await reversalsAfter(tx, [{ lenderId, loan: "LN-2026-00417", after: outstandingAsOf }]);
 * const owedAgainMinor = later.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
 */
export async function reversalsAfter(tx: EntityManager | Tx, keys: readonly PaymentsAfterKey[]): Promise<Reversal[]> {
  if (keys.length === 0) return [];
  const lenderIds = keys.map(({ lenderId }) => lenderId);
  const [loans, times] = [keys.map(({ loan }) => loan), keys.map(({ after }) => after.toISOString())];
  return query(tx, ...forLenders(selectAfter, [lenderIds, loans, times]));
}

/**
 * Returns the parts of a payment that are applied and in excess, after these reversals. Reversals of other payments of
 * the loan count too, because they may have applied excess of this payment. Pass the excess that balances have applied,
 * unless only the sum of both parts is needed.
 *
 * @example
 * const reversals = await reversalsOf(tx, lenderId, "LN-2026-00417");
 * const applied = await excessAppliedByBalances(tx, lenderId, ["LN-2026-00417"]);
 * const { appliedMinor, excessMinor } = remainingOf(booking, reversals, applied);
 */
export function remainingOf(
  booking: Booking,
  reversals: readonly Reversal[],
  applied: readonly AppliedExcess[] = [],
): RemainingPayment {
  let { appliedMinor, excessMinor } = booking;
  for (const { bookingId, amountMinor } of applied) {
    if (bookingId !== booking.id) continue;
    appliedMinor += amountMinor;
    excessMinor -= amountMinor;
  }
  for (const reversal of reversals) {
    if (reversal.bookingId === booking.id) {
      appliedMinor -= reversal.appliedMinor;
      excessMinor -= reversal.excessMinor;
    }
    for (const { bookingId, amountMinor } of reversal.reapplied) {
      if (bookingId !== booking.id) continue;
      appliedMinor += BigInt(amountMinor);
      excessMinor -= BigInt(amountMinor);
    }
  }
  return { appliedMinor, excessMinor };
}

/**
 * Returns one page of a lender's reversals, ordered by id. Checks compare them with rows of other domains.
 *
 * @example
 * const first = await reversalPage(em, lenderId, undefined, 1_000);
 * const next = await reversalPage(em, lenderId, first.at(-1)?.id, 1_000);
 */
export async function reversalPage(
  em: EntityManager,
  lenderId: string,
  after: string | undefined,
  limit: number,
): Promise<Reversal[]> {
  const where = { lenderId, id: { $gt: after ?? BEFORE_ALL_IDS } };
  const options = { orderBy: { id: "asc" }, limit, exclude: ["digest"], disableIdentityMap: true } as const;
  return em.find(PaymentReversalEntity, where, options);
}

// LATERAL with a LIMIT makes PostgreSQL look up each key in the index. Without it, a plan that was prepared while the
// table was empty would read the whole table.
const selectReversals = lenderStatement(
  "ledger.reversals-for",
  { ofOne: "p.lender_id = $4", ofMany: "p.lender_id = k.lender_id" },
  (isTheLenders) => `select ${reversals.selected("b")}
   from unnest($1::uuid[], $2::text[], $3::text[]) as k (lender_id, loan, reference)
   cross join lateral (
     select * from ledger.payment_reversal p
     where ${isTheLenders} and p.source_loan_number = k.loan and p.reversal_reference = k.reference
     limit 1
   ) b`,
);

const selectOfLoan = statement(
  "ledger.reversals-of",
  `select ${reversals.selected("b")} from ledger.payment_reversal b
   where b.lender_id = $1 and b.source_loan_number = $2
   order by b.sequence`,
);

export const selectPaymentsWithReversals = statement(
  "ledger.payments-with-reversals",
  `select ${bookings.selected("b", "payment.")}, ${reversals.selected("r", "reversal.")}
   from (
     select * from ledger.payment_booking p
     where p.lender_id = $1 and p.source_loan_number = $2 order by p.sequence desc limit $3::bigint
   ) b
   left join lateral (
     select * from ledger.payment_reversal p
     where p.lender_id = $1 and p.source_loan_number = $2 and p.booking_id = b.id
     offset 0
   ) r on true
   order by b.sequence desc, r.sequence`,
);

const selectOfLoans = statement(
  "ledger.reversals-of-loans",
  `select ${reversals.selected("b")} from ledger.payment_reversal b
   where b.lender_id = $1 and b.source_loan_number = any ($2::text[])
   order by b.source_loan_number, b.sequence`,
);

// `lender_id = any (…)` lets Citus send the query only to the nodes of these lenders.
const selectWithPayments = statement(
  "ledger.reversals-with-payments",
  `select ${reversals.selected("b")}, p.amount_minor as "paidMinor"
   from ledger.payment_reversal b
   join ledger.payment_booking p on p.lender_id = b.lender_id and p.id = b.booking_id
   where b.lender_id = any ($1::uuid[])
     and (b.lender_id, b.source_loan_number) in (select * from unnest($1::uuid[], $2::text[]))
   order by b.lender_id, b.source_loan_number, b.sequence`,
);

const selectAfter = lenderStatement(
  "ledger.reversals-after",
  { ofOne: "p.lender_id = $4", ofMany: "p.lender_id = k.lender_id" },
  (isTheLenders) => `select ${reversals.selected("b")}
   from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as k (lender_id, loan, after)
   cross join lateral (
     select * from ledger.payment_reversal p
     where ${isTheLenders} and p.source_loan_number = k.loan and p.reversed_at > k.after
     offset 0
   ) b
   order by b.lender_id, b.source_loan_number, b.sequence`,
);
