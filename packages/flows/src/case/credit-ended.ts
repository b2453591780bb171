import { earningCredited, postTransfers } from "@collections/bookings";
import type { LockedCase } from "@collections/cases";
import type { Tx } from "@collections/database";
import { creditEarnings, findPendingEarnings } from "@collections/earnings";

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
  postTransfers(
    tx,
    pending.flatMap((earning) => earningCredited(earning, now)),
  );
}
