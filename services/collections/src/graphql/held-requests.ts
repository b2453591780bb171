import type { VisitOfFieldPartner } from "@collections/cases";
import type { Tx } from "@collections/database";
import { replaceMutationResult } from "@collections/field-partners";
import { type WorkedRequest, workHeldRequests } from "@collections/flows";
import { ClientError } from "./client-error.ts";
import { completed } from "./complete-visit.ts";
import type { Context } from "./context.ts";
import type { Kept } from "./once.ts";
import { requested } from "./request-payment-link.ts";

/** Works what has waited for a visit that has begun in this transaction: its repeats get what has become of it. */
export async function workHeld(
  tx: Tx,
  { fieldPartnerId, visitId }: VisitOfFieldPartner,
  { app }: Context,
): Promise<void> {
  const { environment } = app.config;
  for (const worked of await workHeldRequests(tx, { fieldPartnerId, visitId }, { environment })) {
    const { mutation, key } = worked;
    replaceMutationResult(tx, { fieldPartnerId, mutation, key }, keptOf(worked));
  }
}

/** Undefined for input that only now turns out to be wrong: a repeat is told so, as if it came for the first time. */
function keptOf(worked: WorkedRequest): Kept<unknown> | undefined {
  if (worked.mutation === "requestPaymentLink") return requested(worked.outcome);
  try {
    return completed(worked.outcome);
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}
