import { lenderAccounts, openAccounts } from "@collections/bookings";
import { transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import {
  createLender,
  InvalidLenderError,
  type IssuedKey,
  type Lender,
  type LenderChanges,
  type LenderUpdate,
  type NewLender,
  type SettingChanges,
  updateLender,
  type Vault,
} from "@collections/lenders";
import { type AllowList, checkUrl } from "@collections/outbound";
import { changeEndpoint, endpointOf, registerEndpoint } from "@collections/webhooks";

/**
 * The dependencies of onboarding.
 *
 * @example
 * const onboarding: Onboarding = { vault, allow: parseAllowList(""), environment: "live" };
 */
export interface Onboarding {
  readonly vault: Vault;
  /** Hosts for which plain http and private addresses are allowed. */
  readonly allow: AllowList;
  readonly environment: string;
}

/**
 * The URL to which a lender's events are sent. Null removes the URL; if the property is absent, the URL does not
 * change.
 */
export interface LenderCallback {
  readonly callbackUrl?: string | null;
}

/**
 * Registers a lender with its first API key, its webhook endpoint and its accounts. The secret of the key is in the
 * result and cannot be read later. Throws InvalidLenderError.
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
    await registerEndpoint(tx, { tenantId: created.lender.id, url: callbackUrl });
    openAccounts(tx, lenderAccounts(created.lender.id, created.lender.currency), now);
    return created;
  });
}

/**
 * Changes the given properties of a lender. The audit records the old and the new values, also that of the callback, which
 * decides who receives the lender's events. Throws InvalidLenderError and LenderNotFoundError.
 *
 * @example
 * const onboarding = { vault, allow: parseAllowList(""), environment: "live" };
 * const changes = { commissionPercent: "2.5", callbackUrl: "https://acme.example/hooks/v2" };
 * const changed = await changeLender(em, onboarding, lender.id, changes, { reason: "asked by Acme" });
 */
export async function changeLender(
  em: EntityManager,
  { vault, allow }: Onboarding,
  lenderId: string,
  { callbackUrl, ...changes }: LenderChanges & LenderCallback,
  { reason, checkChanges }: Pick<LenderUpdate, "reason" | "checkChanges"> = {},
): Promise<Lender> {
  checkUrls(allow, { callbackUrl, mintLinkUrl: changes.mintLinkUrl });
  return transaction(em, async (tx) => {
    const now = new Date();
    const changeOthers = callbackUrl === undefined ? undefined : () => changeCallback(tx, lenderId, callbackUrl);
    const lender = await updateLender(tx, vault, lenderId, changes, now, { reason, changeOthers, checkChanges });
    openAccounts(tx, lenderAccounts(lender.id, lender.currency), now);
    return lender;
  });
}

/** Changes the callback, and returns the change for the audit. */
async function changeCallback(tx: Tx, lenderId: string, to: string | null): Promise<SettingChanges> {
  const endpoint = await endpointOf(tx, lenderId);
  await changeEndpoint(tx, { tenantId: lenderId, url: to });
  const from = endpoint?.url ?? null;
  return from === to ? {} : { callbackUrl: { from, to } };
}

/** Checks URLs before they are registered. Rejects a URL to which the service would not be allowed to send requests. */
function checkUrls(allow: AllowList, urls: Readonly<Record<string, string | null | undefined>>): void {
  const faults = Object.entries(urls).flatMap(([field, url]) => {
    const verdict = url ? checkUrl(url, allow) : undefined;
    return verdict && !verdict.ok ? [{ code: "INVALID_URL" as const, field, detail: verdict.reason }] : [];
  });
  const [first, ...others] = faults;
  if (first) throw new InvalidLenderError([first, ...others]);
}
