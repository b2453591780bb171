import { lockVisit, type VisitOfFieldPartner, visitsWaitedFor } from "@collections/cases";
import { transaction, type Tx } from "@collections/database";
import { replaceMutationResult } from "@collections/field-partners";
import { type WorkedRequest, workHeldRequests } from "@collections/flows";
import type { App } from "../app.ts";
import { completed, requested } from "./outcomes.ts";
import type { Kept } from "./refusal.ts";

/** Works what has waited for a visit that has begun in this transaction: its repeats get what has become of it. */
export async function workHeld(
  tx: Tx,
  { fieldPartnerId, visitId }: VisitOfFieldPartner,
  { config: { environment } }: Pick<App, "config">,
): Promise<void> {
  for (const worked of await workHeldRequests(tx, { fieldPartnerId, visitId }, { environment })) {
    const { mutation, key } = worked;
    replaceMutationResult(tx, { fieldPartnerId, mutation, key }, keptOf(worked));
  }
}

/**
 * Works what still waits for visits that have begun: a process of an older version has worked their starts. What fails
 * is logged, and waits for the next time.
 */
export async function workLeftWaiting(app: Pick<App, "config" | "database" | "log">): Promise<void> {
  const { database, log } = app;
  for (const visit of await visitsWaitedFor(database.em(), new Date())) {
    try {
      await transaction(database.em(), async (tx) => {
        lockVisit(tx, visit);
        await workHeld(tx, visit, app);
      });
    } catch (error) {
      log.warn({ visitId: visit.visitId, error }, "what waited for a visit is not worked");
    }
  }
}

/** Undefined for input that only now turns out to be wrong: a repeat is told so, as if it came for the first time. */
function keptOf(worked: WorkedRequest): Kept<unknown> | undefined {
  const outcome = worked.mutation === "requestPaymentLink" ? requested(worked.outcome) : completed(worked.outcome);
  return "invalid" in outcome ? undefined : outcome;
}
