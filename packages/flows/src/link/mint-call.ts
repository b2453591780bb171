import type { Case } from "@collections/cases";
import { type LenderSigningKey, type MintRegistration, mintRegistration, SealedValueError } from "@collections/lenders";
import type { MintAnswer, MintCall, MintRequest } from "@collections/payment-links";
import type { LinkDeps } from "./link-jobs.ts";

/** The lender's settings for mint calls, and the key that signs them. */
export interface MintSetup {
  readonly registration: MintRegistration;
  readonly key: LenderSigningKey;
}

export type NoLink = Extract<MintAnswer, { unavailable: unknown }>;

/** Reads the lender's settings for mint calls, or returns the reason why no call can be made. */
export async function mintSetup(
  { database, vault, credentials }: Pick<LinkDeps, "database" | "vault" | "credentials">,
  lenderId: string,
): Promise<MintSetup | NoLink> {
  try {
    const registration = await mintRegistration(database.em(), vault, lenderId);
    if (!registration) return notConfigured("The lender has registered no mint-link URL.");
    const key = await credentials.signingKeyOf(lenderId);
    return key ? { registration, key } : notConfigured("The lender has no valid API key to sign the mint call with.");
  } catch (error) {
    if (error instanceof SealedValueError) return notConfigured(error.message);
    throw error;
  }
}

function notConfigured(detail: string): NoLink {
  return { unavailable: "not_configured", detail };
}

/** The link that a mint call asks for. Everything else in the call comes from the case and from the lender's settings. */
export interface WantedLink extends Pick<MintRequest, "visitId" | "amountMinor"> {
  readonly mintKey: string;
  readonly theCase: Pick<Case, "id" | "sourceLoanNumber" | "currency" | "borrowerName" | "borrowerPhone">;
}

/** Returns the mint call for a link. */
export function mintCallOf(
  { outbound, allow, mintTimeoutMs }: Pick<LinkDeps, "outbound" | "allow" | "mintTimeoutMs">,
  { registration, key }: MintSetup,
  { mintKey, visitId, amountMinor, theCase }: WantedLink,
): MintCall & { readonly url: string } {
  const { id: caseId, sourceLoanNumber, currency, borrowerName, borrowerPhone } = theCase;
  const description = `Payment for loan ${sourceLoanNumber}`;
  return {
    outbound,
    linkUrlRule: { allow, hosts: registration.paymentLinkHosts },
    url: registration.mintLinkUrl,
    authHeader: registration.authHeader ?? undefined,
    signingKey: key.signingKey,
    keyId: key.keyId,
    mintKey,
    request: { sourceLoanNumber, caseId, visitId, amountMinor, currency, borrowerName, borrowerPhone, description },
    timeoutMs: mintTimeoutMs,
    now: new Date(),
  };
}
