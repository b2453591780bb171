import type { Tx } from "@collections/entities";
import { checkReason, recordAct } from "./audit.ts";
import { checkWhatsappPair, columnsOf } from "./lender-columns.ts";
import { type LenderChanges, readLenderChanges } from "./lender-input.ts";
import { type Lender, lockLender, toLender } from "./lender.ts";
import { type SettingChanges, settingChanges } from "./setting-changes.ts";
import type { LenderState } from "../schema.ts";
import type { Vault } from "../secret/vault.ts";

/** More about an update of a lender, for the audit. */
export interface LenderUpdate {
  readonly reason?: string | undefined;
  /**
   * Changes settings of the lender that other packages store, such as its callback, and returns these changes. Called while
   * the lender is locked.
   */
  readonly changeOthers?: (() => Promise<SettingChanges>) | undefined;
  /** Called with all changes while the lender is locked. If it throws, nothing is changed. */
  readonly checkChanges?: ((changes: SettingChanges) => void) | undefined;
}

/**
 * Changes the given fields of a lender. The audit entry has the old and the new value of each changed setting; of a
 * secret it says only that it was changed. An update that changes nothing leaves no entry.
 * Throws InvalidLenderError, LenderNotFoundError.
 *
 * @example
 * const mintLinkUrl = "https://acme.example/mint";
 * const changes = { mintLinkUrl, commissionPercent: "2.5", rateLimits: { confirm: 60_000 } };
 * const lender = await updateLender(tx, vault, lenderId, changes, now, { reason: "asked by Acme" });
 */
export async function updateLender(
  tx: Tx,
  vault: Vault,
  lenderId: string,
  changes: LenderChanges,
  now: Date = new Date(),
  { reason, changeOthers, checkChanges }: LenderUpdate = {},
): Promise<Lender> {
  if (reason !== undefined) checkReason(reason);
  const values = readLenderChanges(changes);
  const row = await lockLender(tx, lenderId);
  const before = { ...row };
  Object.assign(row, columnsOf(vault, lenderId, values, row.rateLimits));
  checkWhatsappPair(row);
  const changed = { ...settingChanges(before, row, Object.keys(values)), ...(await changeOthers?.()) };
  checkChanges?.(changed);
  const fields = Object.keys(changed);
  if (fields.length === 0) return toLender(row);
  row.updatedAt = now;
  recordAct(tx, { lenderId, act: "lender.updated", reason, data: { fields, changes: changed } }, now);
  return toLender(row);
}

/**
 * Suspends a lender: within a second every process rejects its imports, visits, payment links and messages to
 * borrowers. Confirmations, reads and webhook deliveries continue, because captured money must be recorded. Suspending
 * a suspended lender does nothing. Throws InvalidLenderError if the reason is missing, and LenderNotFoundError if there
 * is no such lender.
 *
 * @example
 * await suspendLender(tx, lenderId, "The contract ended on 30 November");
 */
export async function suspendLender(tx: Tx, lenderId: string, reason: string, now: Date = new Date()): Promise<Lender> {
  return setState(tx, lenderId, "suspended", reason, now);
}

/**
 * Ends the suspension of a lender. Throws InvalidLenderError if the reason is missing, and LenderNotFoundError if there
 * is no such lender.
 *
 * @example
 * await resumeLender(tx, lenderId, "The contract was renewed");
 */
export async function resumeLender(tx: Tx, lenderId: string, reason: string, now: Date = new Date()): Promise<Lender> {
  return setState(tx, lenderId, "active", reason, now);
}

async function setState(tx: Tx, lenderId: string, state: LenderState, reason: string, now: Date): Promise<Lender> {
  checkReason(reason);
  const row = await lockLender(tx, lenderId);
  if (row.state === state) return toLender(row);
  Object.assign(row, { state, updatedAt: now });
  recordAct(tx, { lenderId, act: state === "active" ? "lender.resumed" : "lender.suspended", reason }, now);
  return toLender(row);
}
