import assert from "node:assert/strict";
import type { Tx } from "@collections/entities";
import { lockKey, stateAt } from "./api-key.ts";
import { checkReason, recordAct } from "../lender/audit.ts";
import { ApiKeyNotUsableError } from "../lender/lender-fault.ts";

/**
 * How long the signature debugger is open for an API key after an operator has opened it. contract: Signature debugger
 *
 * @example
 * const openMs = Math.min(15 * 60_000, DEBUGGER_OPEN_MS);
 */
export const DEBUGGER_OPEN_MS = 60 * 60 * 1000;

/**
 * Opens the signature debugger for one API key for `openMs`, at most an hour. This call is needed only in environments
 * where the debugger is closed by default. A second call restarts the time. Returns the time at which the debugger
 * closes. Throws InvalidLenderError, ApiKeyNotUsableError, LenderNotFoundError.
 *
 * @example
 * const reason = "Acme's signatures are rejected since its release";
 * const openUntil = await openDebugger(tx, { lenderId, keyId, reason, openMs: 15 * 60_000 });
 */
export async function openDebugger(
  tx: Tx,
  key: { lenderId: string; keyId: string; reason: string; openMs?: number },
  now: Date = new Date(),
): Promise<Date> {
  const { lenderId, keyId, reason, openMs = DEBUGGER_OPEN_MS } = key;
  checkReason(reason);
  assert.ok(openMs > 0 && openMs <= DEBUGGER_OPEN_MS, `openMs must be above 0 and at most an hour; got ${openMs}.`);
  const chosen = await lockKey(tx, lenderId, keyId);
  if (stateAt(chosen, now) === "revoked") {
    throw new ApiKeyNotUsableError("API_KEY_REVOKED", keyId, `The key ${keyId} is revoked; choose another.`);
  }
  const debugUntil = new Date(now.getTime() + openMs);
  chosen.debugUntil = debugUntil;
  recordAct(tx, { lenderId, act: "key.debugged", reason, data: { keyId, until: debugUntil.toISOString() } }, now);
  return debugUntil;
}
