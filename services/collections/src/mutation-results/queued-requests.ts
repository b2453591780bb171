import { lockVisit, type VisitOfFieldPartner, visitsWithQueuedRequests } from "@collections/cases";
import { transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { replaceMutationResult } from "@collections/field-partners";
import { type ProcessedRequest, processQueuedRequests } from "@collections/flows";
import type { App } from "../app.ts";
import { completed, requested } from "./outcomes.ts";
import type { Kept } from "./refusal.ts";

/** Runs the requests that were queued until this visit starts, and stores their results for repeats. */
export async function runQueuedRequests(
  tx: Tx,
  { fieldPartnerId, visitId }: VisitOfFieldPartner,
  { config: { environment } }: Pick<App, "config">,
): Promise<void> {
  for (const processed of await processQueuedRequests(tx, { fieldPartnerId, visitId }, { environment })) {
    const { mutation, key } = processed;
    replaceMutationResult(tx, { fieldPartnerId, mutation, key }, resultOf(processed));
  }
}

/**
 * Runs requests that are still queued although their visits have started. This happens if a process of an older version
 * recorded the start. A failure is logged, and the requests stay queued until the next call.
 */
export async function runLeftoverRequests(app: Pick<App, "config" | "database" | "log">): Promise<void> {
  const { database, log } = app;
  for (const visit of await visitsWithQueuedRequests(database.em(), new Date())) {
    try {
      await transaction(database.em(), async (tx) => {
        lockVisit(tx, visit);
        await runQueuedRequests(tx, visit, app);
      });
    } catch (error) {
      log.warn({ visitId: visit.visitId, error }, "queued requests of a visit could not be run");
    }
  }
}

/** Returns the result to store; undefined if the input turns out to be invalid, so that a repeat is validated again. */
function resultOf(processed: ProcessedRequest): Kept<unknown> | undefined {
  const outcome =
    processed.mutation === "requestPaymentLink" ? requested(processed.outcome) : completed(processed.outcome);
  return "invalid" in outcome ? undefined : outcome;
}
