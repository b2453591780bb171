import { createHash } from "node:crypto";
import { dropQueuedRequest, lockVisit } from "@collections/cases";
import { transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { claimMutation, saveMutationResult } from "@collections/field-partners";
import { badInput } from "./client-error.ts";
import { type Context, resetReads, viewer } from "./context.ts";
import type { InvalidInput } from "../../mutation-results/outcomes.ts";
import type { Kept, Refusal } from "../../mutation-results/refusal.ts";
import { refusedError } from "./user-error.ts";

const CONFLICT: Refusal = {
  code: "IDEMPOTENCY_CONFLICT",
  message: "This idempotencyKey was used with another input; make a new key for a new request.",
};

/**
 * Runs a mutation once per field partner and idempotency key. `work` and its stored result are one transaction. A
 * repeat gets the stored result, even if that is a refusal. The one exception is VISIT_NOT_FOUND: the visit may have
 * started since, so `work` runs again. If `work` throws, nothing is stored. Throws RefusedError for a refusal.
 */
export async function once<Done>(
  context: Context,
  mutation: string,
  { idempotencyKey, ...input }: { readonly idempotencyKey: string; readonly visitId?: string },
  work: (tx: Tx) => Promise<Kept<Done>>,
): Promise<Done> {
  const { id: fieldPartnerId } = viewer(context);
  const key = { fieldPartnerId, mutation, key: idempotencyKey };
  const kept = await transaction(context.reads.em, async (tx) => {
    if (input.visitId !== undefined) lockVisit(tx, { fieldPartnerId, visitId: input.visitId });
    const claim = await claimMutation(tx, { ...key, inputHash: hashOf(input) });
    if (claim.kind === "conflict") return { refusal: CONFLICT };
    if (claim.kind === "repeat" && isFinal(claim.result as Kept<Done>)) return claim.result as Kept<Done>;
    const kept = await work(tx);
    saveMutationResult(tx, key, kept);
    // Remove the request from the queue, so that it does not run again: `work` has just run it. It is still queued if a
    // process of an older version recorded the start of the visit.
    if (claim.kind === "repeat" && isFinal(kept)) dropQueuedRequest(tx, key);
    return kept;
  });
  resetReads(context);
  if ("refusal" in kept) throw refusedError(kept.refusal);
  return kept.done;
}

/** Returns the result to store for an outcome. Throws BAD_INPUT for invalid input. */
export function keptOrThrown<Done>(outcome: Kept<Done> | InvalidInput): Kept<Done> {
  if ("invalid" in outcome) throw badInput(outcome.invalid);
  return outcome;
}

function isFinal(kept: Kept<unknown>): boolean {
  return !("refusal" in kept) || kept.refusal.code !== "VISIT_NOT_FOUND";
}

/**
 * Returns the hash of an input. GraphQL passes fields in the order of the schema, so equal inputs have equal hashes.
 */
function hashOf(input: object): Uint8Array {
  const text = JSON.stringify(input, (_name, value: unknown) => value ?? undefined);
  return createHash("sha256").update(text).digest();
}
