import type { EntityManager } from "@collections/database";
import type { AuthHeader } from "./lender-fields.ts";
import { lenderRows } from "./lender.ts";
import { LenderEntity } from "../schema.ts";
import {
  mintAuthHeaderContext,
  whatsappAppSecretContext,
  whatsappTokenContext,
  whatsappVerifyTokenContext,
} from "../secret/sealed-context.ts";
import type { Vault } from "../secret/vault.ts";

/** What the mint call needs. Treat it as a secret: never log it. */
export interface MintRegistration {
  readonly mintLinkUrl: string;
  readonly authHeader: AuthHeader | null;
  /** Hosts that a minted link may lead to; empty: any public host. */
  readonly paymentLinkHosts: readonly string[];
}

/** A lender's own WhatsApp account. Treat it as a secret: never log it. */
export interface WhatsappAccount {
  readonly phoneNumberId: string;
  readonly token: string;
  /** The approved template, or null where the lender named none. */
  readonly template: string | null;
}

/** By what Meta's calls about a lender's messages are known. Treat it as a secret: never log it. */
export interface WhatsappWebhook {
  readonly lenderId: string;
  readonly appSecret: string | null;
  readonly verifyToken: string | null;
}

/**
 * Where and how links are minted, or undefined while the lender has registered no endpoint. Throws SealedValueError.
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
 * The lender's WhatsApp account, or undefined while it has registered none. Throws SealedValueError.
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
    template: row.whatsappTemplate,
  };
}

/**
 * What the lender with this code has registered of its WhatsApp webhook, or undefined. Throws SealedValueError.
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
