import { query, send, statement } from "@collections/database";
import type { Tx } from "@collections/entities";

/**
 * How long the result of a mutation is kept to answer its repeats.
 *
 * @example
 * const isStillKnown = (sentAt: Date) => now.getTime() - sentAt.getTime() < MUTATION_RESULT_TTL_MS;
 */
export const MUTATION_RESULT_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** The identity of a mutation. The client makes the idempotency key `key`, a new UUID for each intended change. */
export interface MutationKey {
  readonly fieldPartnerId: string;
  /** The mutation's name, such as `startVisit`. */
  readonly mutation: string;
  readonly key: string;
}

/** The outcome of claiming a mutation's idempotency key. */
export type MutationClaim =
  /** The idempotency key is new: do the work. */
  | { readonly kind: "new" }
  /** The mutation was done with the same input: answer with its result, and do nothing. */
  | { readonly kind: "repeat"; readonly result: unknown }
  /** The idempotency key was used with another input. */
  | { readonly kind: "conflict" };

/** The insert is also the lock: a concurrent repeat waits here until the first transaction has committed or failed. */
const claimKey = statement(
  "field-partners.claim-mutation",
  `insert into field_partners.mutation_result as known (field_partner_id, mutation, key, input_hash, created_at)
   values ($1, $2, $3, $4, $5)
   on conflict (field_partner_id, mutation, key) do update
     set input_hash = excluded.input_hash, result = null, created_at = excluded.created_at
     where known.created_at <= $6
   returning true as claimed`,
);

const selectResult = statement(
  "field-partners.recall-mutation",
  `select input_hash as "inputHash", result, result is not null as "isDone" from field_partners.mutation_result
   where field_partner_id = $1 and mutation = $2 and key = $3`,
);

const updateResult = statement(
  "field-partners.remember-mutation",
  `update field_partners.mutation_result set result = $4
   where field_partner_id = $1 and mutation = $2 and key = $3`,
);

const deleteResult = statement(
  "field-partners.forget-mutation",
  "delete from field_partners.mutation_result where field_partner_id = $1 and mutation = $2 and key = $3",
);

/**
 * Claims the idempotency key of a mutation. Call it first in the mutation's transaction. After `new`, do the work and
 * call `saveMutationResult` in the same transaction, so that a rollback undoes both. `inputHash` is a digest of the
 * input without the key.
 *
 * @example
 * const mutation = { fieldPartnerId, mutation: "startVisit", key: idempotencyKey };
 * const inputHash = createHash("sha256").update(JSON.stringify(input)).digest();
 * const claim = await claimMutation(tx, { ...mutation, inputHash });
 * if (claim.kind === "repeat") return claim.result;
 * if (claim.kind === "new") saveMutationResult(tx, mutation, { visitId: "0193bf7c-52a0-7000-8000-000000000001" });
 */
export async function claimMutation(
  tx: Tx,
  mutation: MutationKey & { inputHash: Uint8Array },
  now: Date = new Date(),
): Promise<MutationClaim> {
  const key = [mutation.fieldPartnerId, mutation.mutation, mutation.key];
  const inputHash = Buffer.from(mutation.inputHash);
  const oldest = new Date(now.getTime() - MUTATION_RESULT_TTL_MS);
  const [claimed] = await query<{ claimed: true }>(tx, claimKey, [...key, inputHash, now, oldest]);
  if (claimed) return { kind: "new" };
  const [known] = await query<{ inputHash: Buffer; result: unknown; isDone: boolean }>(tx, selectResult, key);
  if (!known?.isDone) throw new Error(`${mutation.mutation} committed its claim without saveMutationResult.`);
  return known.inputHash.equals(inputHash) ? { kind: "repeat", result: known.result } : { kind: "conflict" };
}

/**
 * Replaces the result that is kept for a mutation's repeats. A result that was already deleted stays deleted. If
 * `result` is undefined, the result and the claim of its key are deleted, so a repeat is executed as a new mutation.
 *
 * @example
 * const mutation = { fieldPartnerId, mutation: "completeVisit", key: idempotencyKey };
 * replaceMutationResult(tx, mutation, { outcome: "completed" });
 */
export function replaceMutationResult(tx: Tx, mutation: MutationKey, result: unknown): void {
  if (result === undefined) send(tx, deleteResult, [mutation.fieldPartnerId, mutation.mutation, mutation.key]);
  else saveMutationResult(tx, mutation, result);
}

/**
 * Stores the result of a mutation as JSON, for its repeats. Call it after `claimMutation` has returned `new`.
 *
 * @example
 * const mutation = { fieldPartnerId, mutation: "completeVisit", key: idempotencyKey };
 * saveMutationResult(tx, mutation, { outcome: "completed" });
 */
export function saveMutationResult(tx: Tx, { fieldPartnerId, mutation, key }: MutationKey, result: unknown): void {
  send(tx, updateResult, [fieldPartnerId, mutation, key, JSON.stringify(result ?? null)]);
}
