import { type EntityManager, query, statement, transaction, type Tx } from "@collections/database";
import { defineEntity, p } from "@mikro-orm/core";
import { apiKeySecretContext, masterKeySentinelContext } from "./sealed-context.ts";
import { SealedValueError, type Vault } from "./vault.ts";

/** A value that only this database's master key opens: one row, by which a wrong key is found out. */
export const MasterKeySentinelEntity = defineEntity({
  name: "MasterKeySentinel",
  schema: "lenders",
  tableName: "master_key_sentinel",
  properties: {
    onlyRow: p.boolean().primary(),
    sealed: p.text(),
    sealedAt: p.datetime().columnType("timestamptz"),
  },
});

export const masterKeySentinelMigration: readonly string[] = [
  `create table lenders.master_key_sentinel (
     only_row boolean primary key default true check (only_row),
     sealed text not null,
     sealed_at timestamptz not null
   )`,
];

/**
 * The master key is not the one that this database's secrets are sealed under.
 *
 * @example
 * try {
 *   await checkMasterKey(em, vault);
 * } catch (error) {
 *   if (error instanceof WrongMasterKeyError) console.error(`Expected the key ${error.expectedKeyId}: ${error.message}`);
 * }
 */
export class WrongMasterKeyError extends Error {
  override readonly name = "WrongMasterKeyError";
  readonly code = "WRONG_MASTER_KEY";
  /** Names the key that is expected, where the sealed value says it: see `Vault.masterKeyId`. */
  readonly expectedKeyId: string | undefined;

  constructor(vault: Vault, fault: SealedValueError) {
    const expected = fault.masterKeyId === undefined ? "another key" : `the key ${fault.masterKeyId}`;
    super(`The master key ${vault.masterKeyId} is not this database's: its secrets are sealed under ${expected}.`, {
      cause: fault,
    });
    this.expectedKeyId = fault.masterKeyId;
  }
}

/** What the sentinel holds. It says nothing: that it opens is what counts. */
const PLAIN = "collections";
/** Of the secrets under one key, so many are tried: a single one may have been altered. */
const MAX_TRIED = 5;

/**
 * Checks that the vault's master key, or its previous one, is the one of this database. The first call on a database seals
 * the sentinel that later ones open. A database that has secrets and no sentinel yet gets one only from a key that opens
 * them.
 * @throws WrongMasterKeyError
 *
 * @example
 * const vault = createVault({ masterKey });
 * await checkMasterKey(em, vault); // before anything is sealed
 */
export async function checkMasterKey(em: EntityManager, vault: Vault): Promise<void> {
  if (await opensSentinel(em, vault)) return;
  await trySecrets(em, vault);
  await transaction(em, (tx) => query(tx, insertSentinel, [sealedSentinel(vault)]));
  // Another process may have been first, with another key.
  await opensSentinel(em, vault);
}

/**
 * Accepts the vault's master key as the one of this database although it does not open what is sealed: the old key is lost.
 * Nothing else changes: `unreadableSecrets` names what has to be registered again.
 *
 * @example
 * await transaction(em, (tx) => replaceLostMasterKey(tx, vault));
 * const toRegisterAgain = await unreadableSecrets(em, vault);
 */
export async function replaceLostMasterKey(tx: Tx, vault: Vault): Promise<void> {
  await query(tx, replaceSentinel, [sealedSentinel(vault)]);
}

/** Seals the sentinel under the vault's master key, where its previous one opens it. */
export async function resealSentinel(em: EntityManager, vault: Vault): Promise<void> {
  await transaction(em, async (tx) => {
    const [row] = await query<{ sealed: string }>(tx, lockSentinel, []);
    if (!row || row.sealed.split(":")[1] === vault.masterKeyId || !opens(vault, row.sealed)) return;
    await query(tx, replaceSentinel, [sealedSentinel(vault)]);
  });
}

/** False while there is none. @throws WrongMasterKeyError */
async function opensSentinel(em: EntityManager, vault: Vault): Promise<boolean> {
  const [row] = await query<{ sealed: string }>(em, selectSentinel, []);
  if (!row) return false;
  try {
    vault.open(row.sealed, masterKeySentinelContext());
    return true;
  } catch (error) {
    throw error instanceof SealedValueError ? new WrongMasterKeyError(vault, error) : error;
  }
}

function opens(vault: Vault, sealed: string): boolean {
  try {
    vault.open(sealed, masterKeySentinelContext());
    return true;
  } catch (error) {
    if (error instanceof SealedValueError) return false;
    throw error;
  }
}

/** A version without a sentinel may have sealed a few secrets under a wrong key, so the key of most of them decides. */
async function trySecrets(em: EntityManager, vault: Vault): Promise<void> {
  const rows = await query<{ lenderId: string; keyId: string; secret: string }>(em, secretsUnderOneKey, []);
  let fault: SealedValueError | undefined;
  for (const { lenderId, keyId, secret } of rows) {
    try {
      vault.open(secret, apiKeySecretContext(lenderId, keyId));
      return;
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      fault = error;
    }
  }
  if (fault) throw new WrongMasterKeyError(vault, fault);
}

function sealedSentinel(vault: Vault): string {
  return vault.seal(PLAIN, masterKeySentinelContext());
}

const selectSentinel = statement("lenders.master-key-sentinel", "select sealed from lenders.master_key_sentinel");

const lockSentinel = statement(
  "lenders.lock-master-key-sentinel",
  "select sealed from lenders.master_key_sentinel for update",
);

const insertSentinel = statement(
  "lenders.insert-master-key-sentinel",
  "insert into lenders.master_key_sentinel (sealed, sealed_at) values ($1, now()) on conflict do nothing",
);

const replaceSentinel = statement(
  "lenders.replace-master-key-sentinel",
  `insert into lenders.master_key_sentinel (sealed, sealed_at) values ($1, now())
   on conflict (only_row) do update set sealed = excluded.sealed, sealed_at = excluded.sealed_at`,
);

// Every lender has had a key, and keys are never removed.
const secretsUnderOneKey = statement(
  "lenders.secrets-under-one-key",
  `select lender_id as "lenderId", id as "keyId", secret from lenders.api_key
   where split_part(secret, ':', 2) = (
     select split_part(secret, ':', 2) from lenders.api_key group by 1 order by count(*) desc, max(created_at) desc limit 1)
   order by created_at desc limit ${MAX_TRIED}`,
);
