import { creditedAccount, paidAccount, payoutMemo, payoutTransfersOf, type Transfer } from "@collections/bookings";
import { type EntityManager, publicId, readSnapshot, type Tx } from "@collections/database";
import { type PaidOutLine, paidOutPage, payoutMismatches } from "@collections/earnings";

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
 * transfer for its payout. Does not look for additional transfers: they would change the balances of accounts, which
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
  const problems = lines.flatMap((line) => {
    const moved = (transfers.get(line.bookingId) ?? []).filter((transfer) => isPayoutOf(line, transfer));
    if (moved.length === 1) return [];
    const detail = `Paid out by ${line.payoutReference}: expected one transfer of ${line.amountMinor} for this payout, found ${moved.length}.`;
    return [{ code: "PAYOUT_UNLIKE_TRANSFERS" as const, table: "earning" as const, id: line.id, lenderId, detail }];
  });
  return { problems, last: lines.length === PAGE ? lines.at(-1)?.id : undefined };
}

function isPayoutOf(line: PaidOutLine, transfer: Transfer): boolean {
  const { fieldPartnerId, currency, caseId, amountMinor, payoutReference } = line;
  return (
    transfer.debitAccount === creditedAccount(fieldPartnerId, currency) &&
    transfer.creditAccount === paidAccount(fieldPartnerId, currency) &&
    transfer.caseId === caseId &&
    transfer.amountMinor === amountMinor &&
    transfer.memo === payoutMemo(payoutReference)
  );
}
