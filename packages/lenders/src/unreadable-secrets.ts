import { type EntityManager, query, statement } from "@collections/database";
import {
  apiKeySecretContext,
  mintAuthHeaderContext,
  whatsappAppSecretContext,
  whatsappTokenContext,
  whatsappVerifyTokenContext,
} from "./sealed-context.ts";
import { SealedValueError, type Vault } from "./vault.ts";

/** What a sealed secret is for. */
export type SecretKind =
  | "API_KEY"
  | "MINT_AUTH_HEADER"
  | "WHATSAPP_TOKEN"
  | "WHATSAPP_APP_SECRET"
  | "WHATSAPP_VERIFY_TOKEN";

/** A secret of a lender that does not open. */
export interface UnreadableSecret {
  readonly lenderId: string;
  readonly kind: SecretKind;
  /** The API key; null for what the lender has registered once. */
  readonly keyId: string | null;
  readonly fault: SealedValueError;
}

interface SealedRow {
  readonly lenderId: string;
  readonly kind: SecretKind;
  readonly keyId: string | null;
  readonly sealed: string;
}

const CONTEXTS: Record<SecretKind, (lenderId: string, keyId: string) => string> = {
  API_KEY: apiKeySecretContext,
  MINT_AUTH_HEADER: mintAuthHeaderContext,
  WHATSAPP_TOKEN: whatsappTokenContext,
  WHATSAPP_APP_SECRET: whatsappAppSecretContext,
  WHATSAPP_VERIFY_TOKEN: whatsappVerifyTokenContext,
};

const sealedSecrets = statement(
  "lenders.sealed-secrets",
  `select l.id as "lenderId", s.kind, s.key_id as "keyId", s.sealed
   from lenders.lender l cross join lateral (
     select 'API_KEY' as kind, k.id as key_id, k.secret as sealed from lenders.api_key k
       where k.lender_id = l.id and k.state <> 'revoked' and (k.retires_at is null or k.retires_at > now())
     union all select 'MINT_AUTH_HEADER', null, l.mint_auth_header
     union all select 'WHATSAPP_TOKEN', null, l.whatsapp_token
     union all select 'WHATSAPP_APP_SECRET', null, l.whatsapp_app_secret
     union all select 'WHATSAPP_VERIFY_TOKEN', null, l.whatsapp_verify_token
   ) s
   where s.sealed is not null and ($1::uuid is null or l.id = $1)
   order by l.code, s.kind, s.key_id`,
);

/**
 * The secrets in use that do not open with the vault's master keys, of one lender or of all. Keys that ended are left out.
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
    try {
      vault.open(sealed, CONTEXTS[secret.kind](secret.lenderId, secret.keyId ?? ""));
      return [];
    } catch (error) {
      if (error instanceof SealedValueError) return [{ ...secret, fault: error }];
      throw error;
    }
  });
}
