import { type Booking, latestBookings, latestReversals, type Reversal, reversalsOfLoans } from "@collections/bookings";
import { isDay } from "@collections/cases";
import { firstIdAt, parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { spanOfDay, timeIn } from "@collections/local-time";
import { toDecimal } from "@collections/money";
import { chosenLender } from "../chosen-lender.ts";

const PAGE_SIZE = 50;
/** The prefix of the `next` of a page. */
const CURSOR = "before";

/** Which payments or reversals of a lender to show. An unknown value does not restrict them. */
export interface PaymentsWanted {
  readonly lender?: string | undefined;
  readonly kind?: string | undefined;
  /** Only those that were recorded on this day of the lender or earlier, as `YYYY-MM-DD`. */
  readonly until?: string | undefined;
  /** Only those before the one with this id, which is the `next` of a page. */
  readonly before?: string | undefined;
}

/** Returns a page of the payments or of the reversals of one of some lenders, the latest first. */
export async function pageOfPayments(em: EntityManager, given: readonly Lender[], wanted: PaymentsWanted) {
  const { lenderCodes, lender } = chosenLender(given, wanted.lender);
  const kind = wanted.kind === "reversals" ? ("reversals" as const) : ("payments" as const);
  const page = { lenderCodes, lenderCode: lender?.code, timeZone: lender?.timeZone ?? "UTC", kind };
  if (!lender) return { ...page, rows: [], next: null };
  const before = parsePublicId(CURSOR, wanted.before ?? "") ?? endOf(lender, wanted.until);
  const limit = PAGE_SIZE + 1;
  if (kind === "reversals") {
    const found = await latestReversals(em, lender.id, { before, limit });
    return { ...page, ...pageOf(found, (one) => shownReversal(lender, one)) };
  }
  const found = await latestBookings(em, lender.id, { before, limit });
  const loans = [...new Set(found.map(({ sourceLoanNumber }) => sourceLoanNumber))];
  const reversals = Map.groupBy(await reversalsOfLoans(em, lender.id, loans), ({ bookingId }) => bookingId);
  return { ...page, ...pageOf(found, (one) => shownPayment(lender, one, reversals.get(one.id) ?? [])) };
}

/** Returns the first id after the day, or undefined without a valid day. */
function endOf({ timeZone }: Lender, day: string | undefined): string | undefined {
  return day !== undefined && isDay(day) ? firstIdAt(spanOfDay(day, timeZone).to) : undefined;
}

function pageOf<Row extends { readonly id: string }, Shown>(found: readonly Row[], shown: (row: Row) => Shown) {
  const rows = found.slice(0, PAGE_SIZE);
  return { rows: rows.map(shown), next: found.length > PAGE_SIZE ? publicId(CURSOR, rows.at(-1)!.id) : null };
}

function shownPayment({ timeZone }: Lender, booking: Booking, reversals: readonly Reversal[]) {
  const { sourceLoanNumber, reference, amountMinor, currency, mode, paidAt, recordedAt } = booking;
  const reversedMinor = reversals.reduce((sum, one) => sum + one.amountMinor, 0n);
  return {
    sourceLoanNumber,
    reference,
    amount: toDecimal(amountMinor, currency),
    currency,
    paidAt: timeIn(timeZone, paidAt),
    recordedAt: timeIn(timeZone, recordedAt),
    about: mode,
    ofPayment: null,
    reversedAmount: reversedMinor === 0n ? null : toDecimal(reversedMinor, currency),
  };
}

function shownReversal({ timeZone }: Lender, reversal: Reversal) {
  const { sourceLoanNumber, reference, reversalReference, amountMinor, currency, reason } = reversal;
  return {
    sourceLoanNumber,
    reference: reversalReference,
    amount: toDecimal(amountMinor, currency),
    currency,
    paidAt: timeIn(timeZone, reversal.reversedAt),
    recordedAt: timeIn(timeZone, reversal.recordedAt),
    about: reason,
    ofPayment: reference,
    reversedAmount: null,
  };
}
