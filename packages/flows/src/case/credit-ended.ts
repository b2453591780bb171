import { earningCredited, postTransfers, type Posting } from "@collections/bookings";
import type { LockedCase } from "@collections/cases";
import type { Tx } from "@collections/entities";
import { creditEarnings, type Earning, findPendingEarnings } from "@collections/earnings";

/** Credits the field partners' pending earnings on cases that have ended. */
export async function creditEnded(
  tx: Tx,
  endedCases: readonly Pick<LockedCase, "lenderId" | "id">[],
  now: Date,
): Promise<void> {
  const pending = await findPendingEarnings(
    tx,
    endedCases.map(({ lenderId, id }) => ({ lenderId, caseId: id })),
  );
  creditEarnings(tx, pending, now);
  postTransfers(tx, creditedPostings(pending, now));
}

/**
 * Returns the postings that credit pending earnings: one for each booking. A reversal may have added a line below 0 to a
 * booking; the pending lines of a booking always add up to more than 0.
 */
export function creditedPostings(pending: readonly Earning[], now: Date): Posting[] {
  return [...Map.groupBy(pending, ({ bookingId }) => bookingId).values()].flatMap((lines) => {
    const amountMinor = lines.reduce((sum, line) => sum + line.amountMinor, 0n);
    return earningCredited({ ...lines[0]!, amountMinor }, now);
  });
}
