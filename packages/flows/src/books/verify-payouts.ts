import { creditedAccount, paidAccount, payoutMemo, payoutTransfersOf, type Transfer } from "@collections/bookings";
import { publicId, readSnapshot } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { earningsOfBookings, type PaidOutLine, paidOutPage, payoutMismatches } from "@collections/earnings";

/** A payout that contradicts its lines, or a paid line that contradicts the transfers. */
export interface PayoutProblem {
  readonly code: "PAYOUT_MISMATCH" | "PAYOUT_UNLIKE_TRANSFERS";
  readonly table: "payout" | "earning";
  readonly id: string;
  readonly lenderId: string;
  readonly detail: string;
}

const PAGE = 1_000;

/**
 * Checks that the amount of each payout of a lender is the sum of its lines, and that each paid line has exactly one
 * transfer for its payout. Lines of the same booking share a transfer. Does not look for additional transfers: they would change the balances of accounts, which
 * `verifyBooks` compares.
 */
export async function verifyPayouts(em: EntityManager, lenderId: string): Promise<PayoutProblem[]> {
  const problems = await readSnapshot(em, (tx) => checkSums(tx, lenderId));
  let after: string | undefined;
  do {
    const page = await readSnapshot(em, (tx) => checkLines(tx, lenderId, after));
    problems.push(...page.problems);
    after = page.last;
  } while (after !== undefined);
  return problems;
}

async function checkSums(tx: Tx, lenderId: string): Promise<PayoutProblem[]> {
  const mismatches = await payoutMismatches(tx, lenderId);
  return mismatches.map(({ payoutId, saidMinor, saidLines, linesMinor, lines }) => ({
    code: "PAYOUT_MISMATCH",
    table: "payout",
    id: publicId("po", payoutId),
    lenderId,
    detail:
      saidMinor === null
        ? `${lines} earning lines with a total of ${linesMinor} (minor units) name this payout, but their field partner has no such payout in their currency.`
        : `The payout says ${saidMinor} for ${saidLines} lines; its ${lines ?? 0} lines add up to ${linesMinor ?? 0n} (minor units).`,
  }));
}

async function checkLines(
  tx: Tx,
  lenderId: string,
  after: string | undefined,
): Promise<{ problems: PayoutProblem[]; last: string | undefined }> {
  const lines = await paidOutPage(tx, lenderId, after, PAGE);
  const caseIds = [...new Set(lines.map(({ caseId }) => caseId))];
  const transfers = Map.groupBy(await payoutTransfersOf(tx, lenderId, caseIds), ({ bookingId }) => bookingId);
  const problems: PayoutProblem[] = [];
  for (const line of lines) {
    const ofBooking = transfers.get(line.bookingId) ?? [];
    if (ofBooking.filter((transfer) => isPayoutOf(line, transfer)).length === 1) continue;
    // The payout may have paid several lines of the booking, with one transfer for all of them.
    const amountMinor = await paidForBooking(tx, line);
    const moved = ofBooking.filter((transfer) => isPayoutOf({ ...line, amountMinor }, transfer));
    if (moved.length === (amountMinor === 0n ? 0 : 1)) continue;
    const detail = `Paid out by ${line.payoutReference}: expected one transfer of ${amountMinor} for this payout, found ${moved.length}.`;
    problems.push({ code: "PAYOUT_UNLIKE_TRANSFERS", table: "earning", id: line.id, lenderId, detail });
  }
  return { problems, last: lines.length === PAGE ? lines.at(-1)?.id : undefined };
}

/** Returns the sum of the lines of the line's booking that the same payout paid. */
async function paidForBooking(tx: Tx, { lenderId, bookingId, payoutId }: PaidOutLine): Promise<bigint> {
  const lines = await earningsOfBookings(tx, lenderId, [bookingId]);
  return lines.reduce((sum, line) => (line.payoutId === payoutId ? sum + line.amountMinor : sum), 0n);
}

/** Tells whether a transfer paid out this amount, or deducted it if it is below 0. */
function isPayoutOf(line: PaidOutLine, transfer: Transfer): boolean {
  const { fieldPartnerId, currency, caseId, amountMinor, payoutReference } = line;
  const accounts = [creditedAccount(fieldPartnerId, currency), paidAccount(fieldPartnerId, currency)];
  const [debitAccount, creditAccount] = amountMinor < 0n ? accounts.toReversed() : accounts;
  return (
    transfer.debitAccount === debitAccount &&
    transfer.creditAccount === creditAccount &&
    transfer.caseId === caseId &&
    transfer.amountMinor === (amountMinor < 0n ? -amountMinor : amountMinor) &&
    transfer.memo === payoutMemo(payoutReference)
  );
}
