import { type EntityManager, transaction } from "@collections/database";
import { lenderAccounts, openAccounts } from "@collections/ledger";
import {
  createLender,
  InvalidLenderError,
  type IssuedKey,
  type Lender,
  type LenderChanges,
  type NewLender,
  updateLender,
  type Vault,
} from "@collections/lenders";
import { type AllowList, checkUrl } from "@collections/outbound";
import { changeEndpoint, registerEndpoint } from "@collections/webhooks";

/**
 * What onboarding needs besides its input.
 *
 * @example
 * const onboarding: Onboarding = { vault, allow: parseAllowList(""), environment: "live" };
 */
export interface Onboarding {
  readonly vault: Vault;
  /** Hosts that may be plain http and private. */
  readonly allow: AllowList;
  readonly environment: string;
}

/** Where a lender's events go; null takes it away, absent leaves it. */
export interface LenderCallback {
  readonly callbackUrl?: string | null;
}

/**
 * Registers a lender with all that belongs to it: its first API key, its webhook endpoint, its accounts. The secret is
 * in the answer and is never shown again. Throws InvalidLenderError.
 *
 * @example
 * const onboarding = { vault, allow: parseAllowList(""), environment: "live" };
 * const acme = { code: "ACME", name: "Acme Finance", currency: "INR", callbackUrl: "https://acme.example/hooks" };
 * const { lender, ...key } = await onboardLender(em, onboarding, acme);
 */
export async function onboardLender(
  em: EntityManager,
  { vault, allow, environment }: Onboarding,
  { callbackUrl = null, ...input }: NewLender & LenderCallback,
): Promise<{ lender: Lender } & IssuedKey> {
  checkUrls(allow, { callbackUrl, mintLinkUrl: input.mintLinkUrl });
  return transaction(em, async (tx) => {
    const now = new Date();
    const created = await createLender(tx, vault, { ...input, environment }, now);
    await registerEndpoint(tx, { lenderId: created.lender.id, url: callbackUrl });
    openAccounts(tx, lenderAccounts(created.lender.id, created.lender.currency), now);
    return created;
  });
}

/**
 * Changes what is given of a lender and leaves the rest. Throws InvalidLenderError, LenderNotFoundError.
 *
 * @example
 * const onboarding = { vault, allow: parseAllowList(""), environment: "live" };
 * const changes = { commissionPercent: "2.5", callbackUrl: "https://acme.example/hooks/v2" };
 * const changed = await changeLender(em, onboarding, lender.id, changes);
 */
export async function changeLender(
  em: EntityManager,
  { vault, allow }: Onboarding,
  lenderId: string,
  { callbackUrl, ...changes }: LenderChanges & LenderCallback,
): Promise<Lender> {
  checkUrls(allow, { callbackUrl, mintLinkUrl: changes.mintLinkUrl });
  return transaction(em, async (tx) => {
    const now = new Date();
    const lender = await updateLender(tx, vault, lenderId, changes, now);
    if (callbackUrl !== undefined) await changeEndpoint(tx, { lenderId, url: callbackUrl });
    openAccounts(tx, lenderAccounts(lender.id, lender.currency), now);
    return lender;
  });
}

/** A URL that the door out would refuse is refused where it is registered. */
function checkUrls(allow: AllowList, urls: Readonly<Record<string, string | null | undefined>>): void {
  const faults = Object.entries(urls).flatMap(([field, url]) => {
    const verdict = url ? checkUrl(url, allow) : undefined;
    return verdict && !verdict.ok ? [{ code: "INVALID_URL" as const, field, detail: verdict.reason }] : [];
  });
  const [first, ...others] = faults;
  if (first) throw new InvalidLenderError([first, ...others]);
}
