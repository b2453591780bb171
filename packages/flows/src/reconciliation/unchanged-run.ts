import { type ReconciliationRun, reconciliationRun, type RunKey, storedDigest } from "@collections/bookings";
import type { EntityManager } from "@collections/entities";

/**
 * A stored run is not the one that was shown: its differences or its digest were changed. Nothing was booked. Compare the
 * file again.
 *
 * @example
 * const known = new KnownSequences();
 * const { digest } = (await reconciliationOf(em, { lenderId, runId }, 500))!.run;
 * const run = { lenderId, runId, digest };
 * try {
 *   for await (const page of confirmMissing(em, run, lender, { environment: "live", known })) console.log(page.booked);
 * } catch (error) {
 *   if (!(error instanceof ReconciliationChangedError)) throw error;
 * }
 */
export class ReconciliationChangedError extends Error {
  override readonly name = "ReconciliationChangedError";
  readonly code = "RECONCILIATION_CHANGED";

  constructor() {
    super("The stored reconciliation is not the one that was shown, so no payment was booked. Compare the file again.");
  }
}

/** Returns a stored run that has the digest of the run that was shown. Throws ReconciliationChangedError. */
export async function requireUnchangedRun(
  em: EntityManager,
  { digest, ...key }: RunKey & { readonly digest: Buffer | null },
): Promise<ReconciliationRun> {
  const stored = await reconciliationRun(em, key);
  const digests = [stored?.digest, await storedDigest(em, key)];
  if (!stored || digest === null || digests.some((one) => !one || !digest.equals(one))) {
    throw new ReconciliationChangedError();
  }
  return stored;
}
