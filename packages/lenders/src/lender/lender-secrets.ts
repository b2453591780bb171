import type { EntityManager } from "@collections/entities";
import { type AuthHeader, templateOf } from "./lender-fields.ts";
import { lenderRows } from "./lender.ts";
import { LenderEntity } from "../schema.ts";
import {
  mintAuthHeaderContext,
  whatsappAppSecretContext,
  whatsappTokenContext,
  whatsappVerifyTokenContext,
} from "../secret/sealed-context.ts";
import type { Vault } from "../secret/vault.ts";

/** A lender's registration for mint calls. It contains a secret: never log it. */
export interface MintRegistration {
  readonly mintLinkUrl: string;
  readonly authHeader: AuthHeader | null;
  /** The hosts that a minted link may lead to. If empty, any public host is allowed. */
  readonly paymentLinkHosts: readonly string[];
}

/** A lender's own WhatsApp account. It contains a secret: never log it. */
export interface WhatsappAccount {
  readonly phoneNumberId: string;
  readonly token: string;
  /**
   * The approved template with Meta's codes of its languages, the default first, or null if the lender has registered no
   * template. Without languages, the template is approved in the lender's language.
   */
  readonly template: { readonly name: string; readonly languages: readonly string[] } | null;
}

/** The secrets that authenticate Meta's webhook calls about a lender's messages. Never log them. */
export interface WhatsappWebhook {
  readonly lenderId: string;
  readonly appSecret: string | null;
  readonly verifyToken: string | null;
}

/**
 * Returns the lender's mint endpoint and auth header, or undefined if the lender has registered no endpoint.
 * Throws SealedValueError.
 *
 * @example
 * const registration = await mintRegistration(em, vault, lenderId);
 * const { mintLinkUrl = null, authHeader = null } = registration ?? {};
 */
export async function mintRegistration(
  em: EntityManager,
  vault: Vault,
  lenderId: string,
): Promise<MintRegistration | undefined> {
  const [row] = await lenderRows(em, [lenderId]);
  if (!row || row.mintLinkUrl === null) return undefined;
  const { mintLinkUrl, mintAuthHeader, paymentLinkHosts } = row;
  const authHeader = mintAuthHeader === null ? null : vault.open(mintAuthHeader, mintAuthHeaderContext(lenderId));
  return {
    mintLinkUrl,
    authHeader: authHeader === null ? null : (JSON.parse(authHeader) as AuthHeader),
    paymentLinkHosts,
  };
}

/**
 * Returns the lender's WhatsApp account, or undefined if the lender has registered none. Throws SealedValueError.
 *
 * @example
 * const account = await whatsappAccount(em, vault, lenderId);
 * const canSend = account !== undefined && account.template !== null;
 */
export async function whatsappAccount(
  em: EntityManager,
  vault: Vault,
  lenderId: string,
): Promise<WhatsappAccount | undefined> {
  const row = await em.findOne(LenderEntity, { id: lenderId });
  if (!row || row.whatsappPhoneNumberId === null || row.whatsappToken === null) return undefined;
  return {
    phoneNumberId: row.whatsappPhoneNumberId,
    token: vault.open(row.whatsappToken, whatsappTokenContext(lenderId)),
    template: row.whatsappTemplate === null ? null : templateOf(row.whatsappTemplate),
  };
}

/**
 * Returns the WhatsApp webhook secrets of the lender with this code, or undefined if there is no such lender.
 * Throws SealedValueError.
 *
 * @example
 * const webhook = await whatsappWebhook(em, vault, "ACME");
 * const canCheckSignatures = webhook !== undefined && webhook.appSecret !== null;
 */
export async function whatsappWebhook(
  em: EntityManager,
  vault: Vault,
  lenderCode: string,
): Promise<WhatsappWebhook | undefined> {
  const row = await em.findOne(LenderEntity, { code: lenderCode });
  if (!row) return undefined;
  const { id: lenderId, whatsappAppSecret, whatsappVerifyToken } = row;
  return {
    lenderId,
    appSecret: whatsappAppSecret && vault.open(whatsappAppSecret, whatsappAppSecretContext(lenderId)),
    verifyToken: whatsappVerifyToken && vault.open(whatsappVerifyToken, whatsappVerifyTokenContext(lenderId)),
  };
}
