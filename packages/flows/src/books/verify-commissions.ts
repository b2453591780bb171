import {
  type AppliedPayment,
  appliedPayments,
  earningBalanceDigests,
  type EarningBalanceText,
  earningBalanceTexts,
} from "@collections/bookings";
import { readSnapshot } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import {
  commissionOn,
  earningDigests,
  earningsByBooking,
  type EarningsOfBooking,
  earningTexts,
} from "@collections/earnings";
import { liftVerificationLimits } from "@collections/ledger";
import { percentText } from "@collections/money";

/** Earning lines that contradict their booking or the transfers of the ledger. */
export interface CommissionProblem {
  readonly code: "EARNING_UNLIKE_BOOKING" | "EARNING_UNLIKE_TRANSFERS";
  readonly table: "earning" | "payment_booking";
  readonly id: string;
  readonly lenderId: string;
  readonly detail: string;
}

const PAGE = 5_000;
/** The number of buckets whose bookings are read to find those that differ. */
const MAX_BUCKETS = 64;
const MAX_PROBLEMS = 1_000;

/**
 * Checks a lender's earning lines against the bookings and against the transfers. The lines of a booking belong to its
 * field partner, have its rate, and add up to the commission on the amount that is applied now. A booking without a field
 * partner has no lines. The pending, credited and paid-out lines of each booking add up to what its transfers have moved
 * in these accounts of its field partner, so a payout can pay only lines that were earned.
 */
export async function verifyCommissions(
  em: EntityManager,
  lenderId: string,
  { page = PAGE }: { readonly page?: number } = {},
): Promise<{ problems: CommissionProblem[]; total: number }> {
  const problems: CommissionProblem[] = [];
  let total = 0;
  const add = (found: readonly CommissionProblem[]) => {
    total += found.length;
    problems.push(...found.slice(0, MAX_PROBLEMS - problems.length));
  };
  let after: string | undefined;
  do {
    const compared = await readSnapshot(em, (tx) => compareWithBookings(tx, lenderId, after, page));
    add(compared.problems);
    after = compared.last;
  } while (after !== undefined);
  add(await readSnapshot(em, (tx) => compareWithTransfers(tx, lenderId)));
  return { problems, total };
}

async function compareWithBookings(
  tx: Tx,
  lenderId: string,
  after: string | undefined,
  page: number,
): Promise<{ problems: CommissionProblem[]; last: string | undefined }> {
  const earnings = await earningsByBooking(tx, lenderId, after, page);
  const payments = await appliedPayments(
    tx,
    lenderId,
    earnings.map(({ bookingId }) => bookingId),
  );
  const byId = new Map(payments.map((payment) => [payment.bookingId, payment]));
  const problems = earnings.flatMap((lines): CommissionProblem[] => {
    const fault = faultOf(lines, byId.get(lines.bookingId));
    if (fault === undefined) return [];
    const detail = `Loan ${lines.sourceLoanNumber}, payment ${lines.reference}: ${fault}`;
    return [{ code: "EARNING_UNLIKE_BOOKING", table: "earning", id: lines.earningId, lenderId, detail }];
  });
  return { problems, last: earnings.length < page ? undefined : earnings.at(-1)?.bookingId };
}

/** Returns the first thing that is wrong with the earning lines of a booking, as a sentence; undefined if all is right. */
function faultOf(lines: EarningsOfBooking, payment: AppliedPayment | undefined): string | undefined {
  const { bookingId, fieldPartnerId, percent, amountMinor } = lines;
  if (payment === undefined) return `the lines name booking ${bookingId}, which does not exist.`;
  if (!lines.isUniform) return "its lines differ in their case, payment, field partner, currency or percentage.";
  if (fieldPartnerId !== payment.fieldPartnerId) {
    return `its lines belong to ${fieldPartnerId}; the field partner of the booking is ${payment.fieldPartnerId ?? "none"}.`;
  }
  const places = ["caseId", "sourceLoanNumber", "reference", "currency"] as const;
  const differing = places.find((place) => lines[place] !== payment[place]);
  if (differing !== undefined) {
    return `${differing} is ${lines[differing]} in its lines, ${payment[differing]} in its booking.`;
  }
  const rate = payment.commissionPercent ?? percent;
  if (percent !== rate) return `its lines have ${percentText(percent)} %, its booking ${percentText(rate)} %.`;
  const dueMinor = commissionOn(payment.appliedMinor, rate);
  if (amountMinor === dueMinor) return undefined;
  return `${payment.appliedMinor} are applied, which earns ${dueMinor}; its lines add up to ${amountMinor} (minor units).`;
}

/** Compares digests of all bookings first, and reads only the bookings of those buckets whose digests differ. */
async function compareWithTransfers(tx: Tx, lenderId: string): Promise<CommissionProblem[]> {
  liftVerificationLimits(tx);
  const booked = new Map((await earningBalanceDigests(tx, lenderId)).map(({ bucket, digest }) => [bucket, digest]));
  const said = new Map((await earningDigests(tx, lenderId)).map(({ bucket, digest }) => [bucket, digest]));
  const differing = [...new Set([...booked.keys(), ...said.keys()])]
    .filter((bucket) => booked.get(bucket) !== said.get(bucket))
    .slice(0, MAX_BUCKETS);
  if (differing.length === 0) return [];
  const inBooks = textsByBooking(await earningBalanceTexts(tx, lenderId, differing));
  const inLines = textsByBooking(await earningTexts(tx, lenderId, differing));
  return [...new Set([...inBooks.keys(), ...inLines.keys()])].flatMap((id): CommissionProblem[] => {
    const [transfers, lines] = [inBooks.get(id) ?? "nothing", inLines.get(id) ?? "nothing"];
    if (transfers === lines) return [];
    const detail = `Its earning lines say: ${lines}. Its transfers moved: ${transfers} (minor units).`;
    return [{ code: "EARNING_UNLIKE_TRANSFERS", table: "payment_booking", id, lenderId, detail }];
  });
}

function textsByBooking(texts: readonly EarningBalanceText[]): Map<string, string> {
  const groups = Map.groupBy(texts, ({ bookingId }) => bookingId);
  return new Map([...groups].map(([id, own]) => [id, own.map(({ text }) => text).join("; ")]));
}
