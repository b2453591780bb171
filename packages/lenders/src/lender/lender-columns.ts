import { InvalidLenderError } from "./lender-fault.ts";
import type { LenderValues } from "./lender-input.ts";
import type { LenderRow } from "../schema.ts";
import {
  mintAuthHeaderContext,
  whatsappAppSecretContext,
  whatsappTokenContext,
  whatsappVerifyTokenContext,
} from "../secret/sealed-context.ts";
import type { Vault } from "../secret/vault.ts";

/** The columns of a lender that an operator sets. */
export type LenderColumns = Omit<LenderRow, "id" | "code" | "state" | "createdAt" | "updatedAt">;

/** Converts checked values to columns: seals the secrets, and merges the given rate limits into `rateLimits`. */
export function columnsOf(
  vault: Vault,
  lenderId: string,
  values: Partial<Omit<LenderValues, "code">>,
  rateLimits: Record<string, number> = {},
): Partial<LenderColumns> {
  const { mintAuthHeader, whatsappToken, whatsappAppSecret, whatsappVerifyToken, ...open } = values;
  const { commissionPercent, rateLimits: overrides, ...plain } = open;
  return {
    ...plain,
    ...(mintAuthHeader !== undefined && {
      mintAuthHeader: mintAuthHeader && vault.seal(JSON.stringify(mintAuthHeader), mintAuthHeaderContext(lenderId)),
    }),
    ...(whatsappToken !== undefined && {
      whatsappToken: whatsappToken && vault.seal(whatsappToken, whatsappTokenContext(lenderId)),
    }),
    ...(whatsappAppSecret !== undefined && {
      whatsappAppSecret: whatsappAppSecret && vault.seal(whatsappAppSecret, whatsappAppSecretContext(lenderId)),
    }),
    ...(whatsappVerifyToken !== undefined && {
      whatsappVerifyToken: whatsappVerifyToken && vault.seal(whatsappVerifyToken, whatsappVerifyTokenContext(lenderId)),
    }),
    ...(commissionPercent !== undefined && { commission: commissionPercent }),
    ...(overrides !== undefined && { rateLimits: withOverrides(rateLimits, overrides) }),
  };
}

/**
 * Checks that a WhatsApp account has both a phone number id and a token, or neither. With only one of them, messages
 * would silently not be sent. Throws InvalidLenderError.
 */
export function checkWhatsappPair(row: Pick<LenderRow, "whatsappPhoneNumberId" | "whatsappToken">): void {
  const [hasNumber, hasToken] = [row.whatsappPhoneNumberId !== null, row.whatsappToken !== null];
  if (hasNumber === hasToken) return;
  const field = hasNumber ? "whatsappToken" : "whatsappPhoneNumberId";
  const detail = "A WhatsApp account needs a phone number id and a token: give both or neither.";
  throw new InvalidLenderError([{ code: "REQUIRED", field, detail }]);
}

function withOverrides(
  rateLimits: Record<string, number>,
  overrides: Record<string, number | null>,
): Record<string, number> {
  const merged = Object.entries({ ...rateLimits, ...overrides });
  return Object.fromEntries(merged.filter((entry): entry is [string, number] => entry[1] !== null));
}
