import { query, statement, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { recordAct } from "./audit.ts";
import { lockLender } from "./lender.ts";
import { resealSentinel } from "../secret/master-key-sentinel.ts";
import { ApiKeyEntity } from "../schema.ts";
import { LENDER_SECRETS, SECRET_CONTEXTS } from "../secret/sealed-context.ts";
import { unreadableSecrets } from "../secret/unreadable-secrets.ts";
import { masterKeyIdOf, SealedValueError, tryOpen, type Vault } from "../secret/vault.ts";

const LENDERS_PER_BATCH = 100;
const BEFORE_EVERY_ID = "00000000-0000-0000-0000-000000000000";

/** Selects lenders with a secret that is not sealed under the master key $1. */
const lendersToReseal = statement(
  "lenders.lenders-to-reseal",
  `select id from lenders.lender
   where id > $2 and (${LENDER_SECRETS.map(({ column }) => isUnderAnotherKey(column)).join(" or ")}
     or id = any (array(select k.lender_id from lenders.api_key k where k.lender_id > $2 and ${isUnderAnotherKey("k.secret")})))
   order by id limit ${LENDERS_PER_BATCH}`,
);

/**
 * Returns the SQL condition that the secret in `column` is sealed under a master key other than $1. A null secret never
 * matches.
 */
function isUnderAnotherKey(column: string): string {
  return `split_part(${column}, ':', 2) <> $1`;
}

/** The result of a rotation. Keep the old master key while `unreadable` has entries. */
export interface ResealReport {
  readonly resealed: number;
  /** The secrets in use that stay sealed under another master key, unchanged, because they could not be decrypted. */
  readonly unreadable: readonly SealedValueError[];
}

/**
 * Seals every secret again under the vault's master key. Secrets sealed under another master key are opened with the
 * vault's previous key. Each lender has its own transaction, so that processes that know both keys keep working. After
 * an interruption, a second call continues. The secrets of revoked and retired API keys are resealed too, but are not
 * reported if they cannot be decrypted.
 *
 * @example
 * const vault = createVault({ masterKey: nextMasterKey, previous: masterKey });
 * const { resealed, unreadable } = await resealSecrets(em, vault);
 * if (unreadable.length > 0) throw new Error("Keep the old master key: some secrets are still sealed under it.");
 */
export async function resealSecrets(em: EntityManager, vault: Vault): Promise<ResealReport> {
  let resealed = 0;
  let last: string | undefined = BEFORE_EVERY_ID;
  while (last !== undefined) {
    const lenders: { id: string }[] = await query<{ id: string }>(em, lendersToReseal, [vault.masterKeyId, last]);
    for (const { id } of lenders) {
      resealed += await transaction(em, (tx) => resealLender(tx, vault, id));
    }
    last = lenders.at(-1)?.id;
  }
  // The sentinel is resealed last: until then a process that knows only the new master key does not start.
  await resealSentinel(em, vault);
  const faults = (await unreadableSecrets(em, vault)).map(({ fault }) => fault);
  // Unreadable secrets that are sealed under the new master key are not reported: keeping the old master key would not
  // help.
  return { resealed, unreadable: faults.filter(({ masterKeyId }) => masterKeyId !== vault.masterKeyId) };
}

/** Returns the number of secrets that were sealed again. */
async function resealLender(tx: Tx, vault: Vault, lenderId: string): Promise<number> {
  let resealed = 0;
  const lender = await lockLender(tx, lenderId);
  const keys = await tx.find(ApiKeyEntity, { lenderId }, { refresh: true });
  for (const key of keys) key.secret = reseal(key.secret, SECRET_CONTEXTS.API_KEY(lenderId, key.id));
  for (const { kind, property } of LENDER_SECRETS) {
    const sealed = lender[property];
    if (sealed !== null) lender[property] = reseal(sealed, SECRET_CONTEXTS[kind](lenderId, ""));
  }
  const data = { masterKeyId: vault.masterKeyId, secrets: resealed };
  if (resealed > 0) recordAct(tx, { lenderId, act: "master_key.rotated", data });
  return resealed;

  function reseal(sealed: string, context: string): string {
    if (masterKeyIdOf(sealed) === vault.masterKeyId) return sealed;
    const plain = tryOpen(vault, sealed, context);
    if (plain instanceof SealedValueError) return sealed;
    resealed += 1;
    return vault.seal(plain, context);
  }
}
