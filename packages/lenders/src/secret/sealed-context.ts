import type { LenderRow } from "../schema.ts";

/** The purpose of a sealed secret. */
export type SecretKind = "API_KEY" | LenderSecret["kind"];

/** A secret of which each lender has at most one. It is stored in a column of `lenders.lender`. */
type LenderSecret = (typeof LENDER_SECRETS)[number];

/** The sealed columns of `lenders.lender`. Every query and loop over a lender's secrets is built from this list. */
export const LENDER_SECRETS = [
  { kind: "MINT_AUTH_HEADER", property: "mintAuthHeader", column: "mint_auth_header" },
  { kind: "WHATSAPP_TOKEN", property: "whatsappToken", column: "whatsapp_token" },
  { kind: "WHATSAPP_APP_SECRET", property: "whatsappAppSecret", column: "whatsapp_app_secret" },
  { kind: "WHATSAPP_VERIFY_TOKEN", property: "whatsappVerifyToken", column: "whatsapp_verify_token" },
] as const satisfies readonly { kind: string; property: keyof LenderRow; column: string }[];

/** The context under which each kind of secret is sealed. Only API keys need `keyId`. */
export const SECRET_CONTEXTS: Record<SecretKind, (lenderId: string, keyId: string) => string> = {
  API_KEY: apiKeySecretContext,
  MINT_AUTH_HEADER: mintAuthHeaderContext,
  WHATSAPP_TOKEN: whatsappTokenContext,
  WHATSAPP_APP_SECRET: whatsappAppSecretContext,
  WHATSAPP_VERIFY_TOKEN: whatsappVerifyTokenContext,
};

/**
 * Returns the context of an API key's secret: its row and column. A value copied to another row cannot be decrypted.
 */
export function apiKeySecretContext(lenderId: string, keyId: string): string {
  return `lenders.api_key.secret/${lenderId}/${keyId}`;
}

/** Returns the context of the auth header for a lender's mint endpoint. */
export function mintAuthHeaderContext(lenderId: string): string {
  return `lenders.lender.mint_auth_header/${lenderId}`;
}

/** Returns the context of the access token of a lender's WhatsApp account. */
export function whatsappTokenContext(lenderId: string): string {
  return `lenders.lender.whatsapp_token/${lenderId}`;
}

/** Returns the context of the app secret with which Meta signs its webhook calls about a lender's messages. */
export function whatsappAppSecretContext(lenderId: string): string {
  return `lenders.lender.whatsapp_app_secret/${lenderId}`;
}

/** Returns the context of the token that Meta sends when a lender registers the service's WhatsApp webhook. */
export function whatsappVerifyTokenContext(lenderId: string): string {
  return `lenders.lender.whatsapp_verify_token/${lenderId}`;
}

/** Returns the context of the master key sentinel. */
export function masterKeySentinelContext(): string {
  return "lenders.master_key_sentinel.sealed";
}
