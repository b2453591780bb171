import { type EntityManager, newId, type Tx } from "@collections/database";
import { InvalidLenderError } from "./lender-fault.ts";
import { AuditEntryEntity } from "../schema.ts";

/** An action on a lender, to be recorded. `data` must not contain a secret. */
export interface Act {
  readonly lenderId: string;
  /** The kind of action, such as `lender.suspended` or `key.revoked`. */
  readonly act: string;
  readonly reason?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A recorded action on a lender. */
export interface AuditEntry {
  readonly id: string;
  readonly act: string;
  readonly reason: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/**
 * Adds an action on a lender to the append-only audit.
 *
 * @example
 * recordAct(tx, { lenderId, act: "lender.exported", reason: "Asked for by Acme", data: { rows: 1_200 } }, now);
 */
export function recordAct(tx: Tx, act: Act, now: Date = new Date()): void {
  tx.create(AuditEntryEntity, {
    lenderId: act.lenderId,
    id: newId(),
    act: act.act,
    reason: act.reason ?? null,
    data: { ...act.data },
    at: now,
  });
}

/**
 * Returns the last recorded actions on a lender, newest first.
 *
 * @example
 * const [lastAct] = await actsOn(em, lenderId, 1);
 */
export async function actsOn(em: EntityManager, lenderId: string, limit = 50): Promise<AuditEntry[]> {
  const rows = await em.find(AuditEntryEntity, { lenderId }, { orderBy: { id: "desc" }, limit });
  return rows.map(({ id, act, reason, data, at }) => ({ id, act, reason, data, at }));
}

/** Checks the reason of an action. Throws InvalidLenderError. */
export function checkReason(reason: string): void {
  if (reason.trim() !== "" && reason.length <= 500) return;
  throw new InvalidLenderError([
    { code: "REQUIRED", field: "reason", detail: "Give a reason of 1 to 500 characters. The audit keeps it." },
  ]);
}
