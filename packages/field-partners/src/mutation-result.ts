import { query, send, statement, type Tx } from "@collections/database";

/**
 * How long a mutation's result answers its repeats.
 *
 * @example
 * const isStillKnown = (sentAt: Date) => now.getTime() - sentAt.getTime() < MUTATION_RESULT_TTL_MS;
 */
export const MUTATION_RESULT_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** One mutation as its client names it: the key is the client's, a UUID for each intention. */
export interface MutationKey {
  readonly fieldPartnerId: string;
  /** The mutation's name, such as `startVisit`. */
  readonly mutation: string;
  readonly key: string;
}

/** What to do about a mutation, by what is known of its key. */
export type Recalled =
  | { readonly kind: "new" }
  /** The same input came before: answer this, and do nothing. */
  | { readonly kind: "repeat"; readonly result: unknown }
  /** The key was used with another input. */
  | { readonly kind: "conflict" };

/** Inserting first is the lock: of two equal requests the second waits here until the first has committed or failed. */
const claim = statement(
  "field-partners.claim-mutation",
  `insert into field_partners.mutation_result as known (field_partner_id, mutation, key, input_hash, created_at)
   values ($1, $2, $3, $4, $5)
   on conflict (field_partner_id, mutation, key) do update
     set input_hash = excluded.input_hash, result = null, created_at = excluded.created_at
     where known.created_at <= $6
   returning true as claimed`,
);

const recall = statement(
  "field-partners.recall-mutation",
  `select input_hash as "inputHash", result, result is not null as "isDone" from field_partners.mutation_result
   where field_partner_id = $1 and mutation = $2 and key = $3`,
);

const remember = statement(
  "field-partners.remember-mutation",
  `update field_partners.mutation_result set result = $4
   where field_partner_id = $1 and mutation = $2 and key = $3`,
);

const forget = statement(
  "field-partners.forget-mutation",
  "delete from field_partners.mutation_result where field_partner_id = $1 and mutation = $2 and key = $3",
);

/**
 * Asks, as the first step of a mutation's transaction, whether it was done already. After `new` the mutation does its
 * work and calls `rememberMutation` in the same transaction; a rollback forgets both. `inputHash` is a digest of the
 * input without its key.
 *
 * @example
 * const mutation = { fieldPartnerId, mutation: "startVisit", key: idempotencyKey };
 * const inputHash = createHash("sha256").update(JSON.stringify(input)).digest();
 * const recalled = await recallMutation(tx, { ...mutation, inputHash });
 * if (recalled.kind === "repeat") return recalled.result;
 * if (recalled.kind === "new") rememberMutation(tx, mutation, { visitId: "0193bf7c-52a0-7000-8000-000000000001" });
 */
export async function recallMutation(
  tx: Tx,
  mutation: MutationKey & { inputHash: Uint8Array },
  now: Date = new Date(),
): Promise<Recalled> {
  const key = [mutation.fieldPartnerId, mutation.mutation, mutation.key];
  const inputHash = Buffer.from(mutation.inputHash);
  const oldest = new Date(now.getTime() - MUTATION_RESULT_TTL_MS);
  const [claimed] = await query<{ claimed: true }>(tx, claim, [...key, inputHash, now, oldest]);
  if (claimed) return { kind: "new" };
  const [known] = await query<{ inputHash: Buffer; result: unknown; isDone: boolean }>(tx, recall, key);
  if (!known?.isDone) throw new Error(`${mutation.mutation} committed its claim without rememberMutation.`);
  return known.inputHash.equals(inputHash) ? { kind: "repeat", result: known.result } : { kind: "conflict" };
}

/**
 * Puts another result in the place of the one that is kept for the mutation's repeats; one that was forgotten stays so.
 * Without a result the mutation itself is forgotten: a repeat is worked anew.
 *
 * @example
 * const mutation = { fieldPartnerId, mutation: "completeVisit", key: idempotencyKey };
 * replaceMutationResult(tx, mutation, { outcome: "completed" });
 */
export function replaceMutationResult(tx: Tx, mutation: MutationKey, result: unknown): void {
  if (result === undefined) send(tx, forget, [mutation.fieldPartnerId, mutation.mutation, mutation.key]);
  else rememberMutation(tx, mutation, result);
}

/**
 * Keeps what the mutation answered, as JSON, for its repeats, where `recallMutation` has said `new`.
 *
 * @example
 * const mutation = { fieldPartnerId, mutation: "completeVisit", key: idempotencyKey };
 * rememberMutation(tx, mutation, { outcome: "completed" });
 */
export function rememberMutation(tx: Tx, { fieldPartnerId, mutation, key }: MutationKey, result: unknown): void {
  send(tx, remember, [fieldPartnerId, mutation, key, JSON.stringify(result ?? null)]);
}
