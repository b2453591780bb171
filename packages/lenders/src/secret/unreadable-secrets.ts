import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { LENDER_SECRETS, SECRET_CONTEXTS, type SecretKind } from "./sealed-context.ts";
import { SealedValueError, tryOpen, type Vault } from "./vault.ts";

/** A lender's secret that cannot be decrypted. */
export interface UnreadableSecret {
  readonly lenderId: string;
  readonly kind: SecretKind;
  /** The id of the API key; null for a secret of the lender itself. */
  readonly keyId: string | null;
  readonly fault: SealedValueError;
}

interface SealedRow {
  readonly lenderId: string;
  readonly kind: SecretKind;
  readonly keyId: string | null;
  readonly sealed: string;
}

const sealedSecrets = statement(
  "lenders.sealed-secrets",
  `select "lenderId", kind, "keyId", sealed
   from (
     select l.code, l.id as "lenderId", 'API_KEY' as kind, k.id as "keyId", k.secret as sealed
     from lenders.lender l join lenders.api_key k on k.lender_id = l.id
     where k.state <> 'revoked' and (k.retires_at is null or k.retires_at > now())
     ${LENDER_SECRETS.map(({ kind, column }) => `union all select code, id, '${kind}', null, ${column} from lenders.lender`).join("\n     ")}
   ) s
   where sealed is not null and ($1::uuid is null or "lenderId" = $1)
   order by code, kind, "keyId"`,
);

/**
 * Returns the secrets in use that the vault's master keys cannot decrypt, for one lender or for all lenders. Revoked
 * and retired keys are left out, because they need not be registered again.
 *
 * @example
 * for (const { lenderId, kind, fault } of await unreadableSecrets(em, vault)) {
 *   console.error(`${kind} of the lender ${lenderId}: ${fault.message}`);
 * }
 */
export async function unreadableSecrets(
  em: EntityManager,
  vault: Vault,
  lenderId?: string,
): Promise<UnreadableSecret[]> {
  const rows = await query<SealedRow>(em, sealedSecrets, [lenderId ?? null]);
  return rows.flatMap(({ sealed, ...secret }) => {
    const plain = tryOpen(vault, sealed, SECRET_CONTEXTS[secret.kind](secret.lenderId, secret.keyId ?? ""));
    return plain instanceof SealedValueError ? [{ ...secret, fault: plain }] : [];
  });
}
