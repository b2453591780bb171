import { type EntityManager, query, statement, transaction, type Tx } from "@collections/database";
import { lockLender } from "./lender.ts";
import { resealSentinel } from "./master-key-sentinel.ts";
import { ApiKeyEntity } from "./schema.ts";
import {
  apiKeySecretContext,
  mintAuthHeaderContext,
  whatsappAppSecretContext,
  whatsappTokenContext,
  whatsappVerifyTokenContext,
} from "./sealed-context.ts";
import { SealedValueError, type Vault } from "./vault.ts";

const LENDERS_PER_BATCH = 100;
const BEFORE_EVERY_ID = "00000000-0000-0000-0000-000000000000";

/** Lenders that keep something under another master key than $1. */
const lendersToReseal = statement(
  "lenders.lenders-to-reseal",
  `select id from lenders.lender
   where id > $2 and (split_part(mint_auth_header, ':', 2) <> $1 or split_part(whatsapp_token, ':', 2) <> $1
     or split_part(whatsapp_app_secret, ':', 2) <> $1 or split_part(whatsapp_verify_token, ':', 2) <> $1
     or exists (select from lenders.api_key k where k.lender_id = lender.id and split_part(k.secret, ':', 2) <> $1))
   order by id limit ${LENDERS_PER_BATCH}`,
);

/** How a rotation went. While anything is unreadable the old master key must not be thrown away. */
export interface ResealReport {
  readonly resealed: number;
  /** What did not open, and why: nothing of it was changed. */
  readonly unreadable: readonly SealedValueError[];
}

/**
 * Seals every secret again under the vault's master key; the vault opens the others by its previous key. One transaction
 * a lender: processes that know both keys go on meanwhile, and a second call continues where an interrupted one ended.
 *
 * @example
 * const vault = createVault({ masterKey: nextMasterKey, previous: masterKey });
 * const { resealed, unreadable } = await resealSecrets(em, vault);
 * if (unreadable.length > 0) throw new Error("Keep the old master key: not everything opens without it.");
 */
export async function resealSecrets(em: EntityManager, vault: Vault): Promise<ResealReport> {
  const report = { resealed: 0, unreadable: [] as SealedValueError[] };
  let last: string | undefined = BEFORE_EVERY_ID;
  while (last !== undefined) {
    const lenders: { id: string }[] = await query<{ id: string }>(em, lendersToReseal, [vault.masterKeyId, last]);
    for (const { id } of lenders) {
      const { resealed, unreadable } = await transaction(em, (tx) => resealLender(tx, vault, id));
      report.resealed += resealed;
      report.unreadable.push(...unreadable);
    }
    last = lenders.at(-1)?.id;
  }
  // Last: until then a process that knows the new key alone is refused.
  await resealSentinel(em, vault);
  return report;
}

async function resealLender(tx: Tx, vault: Vault, lenderId: string): Promise<ResealReport> {
  const report = { resealed: 0, unreadable: [] as SealedValueError[] };
  const lender = await lockLender(tx, lenderId);
  const keys = await tx.find(ApiKeyEntity, { lenderId }, { refresh: true });
  for (const key of keys) key.secret = reseal(key.secret, apiKeySecretContext(lenderId, key.id));
  if (lender.mintAuthHeader !== null) {
    lender.mintAuthHeader = reseal(lender.mintAuthHeader, mintAuthHeaderContext(lenderId));
  }
  if (lender.whatsappToken !== null) {
    lender.whatsappToken = reseal(lender.whatsappToken, whatsappTokenContext(lenderId));
  }
  if (lender.whatsappAppSecret !== null) {
    lender.whatsappAppSecret = reseal(lender.whatsappAppSecret, whatsappAppSecretContext(lenderId));
  }
  if (lender.whatsappVerifyToken !== null) {
    lender.whatsappVerifyToken = reseal(lender.whatsappVerifyToken, whatsappVerifyTokenContext(lenderId));
  }
  return report;

  function reseal(sealed: string, context: string): string {
    if (sealed.split(":")[1] === vault.masterKeyId) return sealed;
    try {
      const again = vault.seal(vault.open(sealed, context), context);
      report.resealed += 1;
      return again;
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      report.unreadable.push(error);
      return sealed;
    }
  }
}
