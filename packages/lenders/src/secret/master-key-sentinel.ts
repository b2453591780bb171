import { query, type ReadRows, statement, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { LockMode } from "@mikro-orm/core";
import { MasterKeySentinelEntity } from "../schema.ts";
import { apiKeySecretContext, masterKeySentinelContext } from "./sealed-context.ts";
import { masterKeyIdOf, SealedValueError, tryOpen, type Vault } from "./vault.ts";

/**
 * Thrown if the master key is not the one that this database's secrets are sealed under.
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
  /** The id of the expected master key (see `Vault.masterKeyId`), if the sealed value contains one. */
  readonly expectedKeyId: string | undefined;

  constructor(vault: Vault, fault: SealedValueError) {
    const expected = fault.masterKeyId === undefined ? "another key" : `the key ${fault.masterKeyId}`;
    super(
      `The master key ${vault.masterKeyId} is not the master key of this database: its secrets are sealed under ${expected}.`,
      {
        cause: fault,
      },
    );
    this.expectedKeyId = fault.masterKeyId;
  }
}

/** The text that the sentinel contains. It has no meaning: the check is only whether it can be decrypted. */
const PLAIN = "collections";
/** The number of secrets to try before a master key counts as wrong, because a single secret may have been altered. */
const MAX_TRIED = 5;

/**
 * Checks that the vault's master key or its previous one is the key of this database. The first call on a database seals
 * the sentinel, which later calls open. If the database already has secrets, the sentinel is sealed under the key that opens
 * them; a vault that cannot open them is rejected.
 * @throws WrongMasterKeyError
 *
 * @example
 * const vault = createVault({ masterKey });
 * await checkMasterKey(em, vault); // before anything is sealed
 */
export async function checkMasterKey(em: EntityManager, vault: Vault): Promise<void> {
  if (await opensSentinel(em, vault)) return;
  const masterKeyId = (await masterKeyOfSecrets(em, vault)) ?? vault.masterKeyId;
  await transaction(em, (tx) => query(tx, insertSentinel, [sealedSentinel(vault, masterKeyId)]));
  // Another process may have sealed the sentinel first, under another master key.
  await opensSentinel(em, vault);
}

/**
 * Checks the master key before a database is migrated: pass this function as `check` to `migrate`. Does nothing if the
 * database has no sentinel yet, or if the database role may not read it; such a role cannot migrate anyway. Call
 * `checkMasterKey` after the migration.
 * @throws WrongMasterKeyError
 *
 * @example
 * const url = process.env["DATABASE_URL"]!;
 * await migrate({ url, schemas: [lendersSchema], check: (read) => checkMasterKeyBeforeMigration(read, vault) });
 */
export async function checkMasterKeyBeforeMigration(read: ReadRows, vault: Vault): Promise<void> {
  const [access] = await read<{ readable: boolean }>(selectReadable);
  if (!access?.readable) return;
  const [row] = await read<{ sealed: string }>(selectSentinel.text);
  if (row) openSentinel(vault, row.sealed);
}

/**
 * Makes the vault's master key the master key of this database, after the old key was lost. Secrets that were sealed
 * under the old key stay unreadable: `unreadableSecrets` lists them, so that they can be registered again.
 *
 * @example
 * await transaction(em, (tx) => replaceLostMasterKey(tx, vault));
 * const toRegisterAgain = await unreadableSecrets(em, vault);
 */
export async function replaceLostMasterKey(tx: Tx, vault: Vault): Promise<void> {
  await query(tx, replaceSentinel, [sealedSentinel(vault)]);
}

/** Seals the sentinel under the vault's master key if the vault's previous key opens it. */
export async function resealSentinel(em: EntityManager, vault: Vault): Promise<void> {
  await transaction(em, async (tx) => {
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
    const row = await tx.findOne(MasterKeySentinelEntity, { onlyRow: true }, lock);
    if (!row || masterKeyIdOf(row.sealed) === vault.masterKeyId) return;
    if (tryOpen(vault, row.sealed, masterKeySentinelContext()) instanceof SealedValueError) return;
    Object.assign(row, { sealed: sealedSentinel(vault), sealedAt: new Date() });
  });
}

/** Checks the vault against the sentinel. Returns false if the database has none yet. @throws WrongMasterKeyError */
async function opensSentinel(em: EntityManager, vault: Vault): Promise<boolean> {
  const [row] = await query<{ sealed: string }>(em, selectSentinel, []);
  if (!row) return false;
  openSentinel(vault, row.sealed);
  return true;
}

/** Checks that the vault can decrypt the sentinel. @throws WrongMasterKeyError */
function openSentinel(vault: Vault, sealed: string): void {
  const plain = tryOpen(vault, sealed, masterKeySentinelContext());
  if (plain instanceof SealedValueError) throw new WrongMasterKeyError(vault, plain);
}

/**
 * Returns the id of the master key under which most secrets are sealed, or undefined if there are no secrets. A version
 * without a sentinel may have sealed a few secrets under a wrong key, so the majority decides.
 * @throws WrongMasterKeyError if the vault opens none of the secrets that are tried
 */
async function masterKeyOfSecrets(em: EntityManager, vault: Vault): Promise<string | undefined> {
  const rows = await query<{ lenderId: string; keyId: string; secret: string }>(em, secretsUnderOneKey, []);
  let fault: SealedValueError | undefined;
  for (const { lenderId, keyId, secret } of rows) {
    const plain = tryOpen(vault, secret, apiKeySecretContext(lenderId, keyId));
    if (!(plain instanceof SealedValueError)) return masterKeyIdOf(secret);
    fault = plain;
  }
  if (fault) throw new WrongMasterKeyError(vault, fault);
  return undefined;
}

function sealedSentinel(vault: Vault, masterKeyId = vault.masterKeyId): string {
  return vault.sealUnder(masterKeyId, PLAIN, masterKeySentinelContext());
}

const selectSentinel = statement("lenders.master-key-sentinel", "select sealed from lenders.master_key_sentinel");

/** Selects whether the database role may read the sentinel. Returns no row if the table does not exist. */
const selectReadable = `
  select has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') as readable
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'lenders' and c.relname = 'master_key_sentinel'`;

const insertSentinel = statement(
  "lenders.insert-master-key-sentinel",
  "insert into lenders.master_key_sentinel (sealed, sealed_at) values ($1, now()) on conflict do nothing",
);

const replaceSentinel = statement(
  "lenders.replace-master-key-sentinel",
  `insert into lenders.master_key_sentinel (sealed, sealed_at) values ($1, now())
   on conflict (only_row) do update set sealed = excluded.sealed, sealed_at = excluded.sealed_at`,
);

// Reads only the secrets of API keys. That is enough, because every lender gets a key, and keys are never deleted.
const secretsUnderOneKey = statement(
  "lenders.secrets-under-one-key",
  `select lender_id as "lenderId", id as "keyId", secret from lenders.api_key
   where split_part(secret, ':', 2) = (
     select split_part(secret, ':', 2) from lenders.api_key group by 1 order by count(*) desc, max(created_at) desc limit 1)
   order by created_at desc limit ${MAX_TRIED}`,
);
