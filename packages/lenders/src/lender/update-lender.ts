import type { Tx } from "@collections/database";
import { checkReason, recordAct } from "./audit.ts";
import { checkWhatsappPair, columnsOf } from "./lender-columns.ts";
import { type LenderChanges, readLenderChanges } from "./lender-input.ts";
import { type Lender, lockLender, toLender } from "./lender.ts";
import type { LenderState } from "../schema.ts";
import type { Vault } from "../secret/vault.ts";

/**
 * Changes the given fields of a lender. The audit entry contains the names of the fields, not their values.
 * Throws InvalidLenderError, LenderNotFoundError.
 *
 * @example
 * const mintLinkUrl = "https://acme.example/mint";
 * const changes = { mintLinkUrl, commissionPercent: "2.5", rateLimits: { confirm: 60_000 } };
 * const lender = await updateLender(tx, vault, lenderId, changes);
 */
export async function updateLender(
  tx: Tx,
  vault: Vault,
  lenderId: string,
  changes: LenderChanges,
  now: Date = new Date(),
): Promise<Lender> {
  const values = readLenderChanges(changes);
  const row = await lockLender(tx, lenderId);
  const fields = Object.keys(values);
  if (fields.length === 0) return toLender(row);
  Object.assign(row, columnsOf(vault, lenderId, values, row.rateLimits), { updatedAt: now });
  checkWhatsappPair(row);
  recordAct(tx, { lenderId, act: "lender.updated", data: { fields } }, now);
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
