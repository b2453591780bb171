import { type EntityManager, newId, type Tx } from "@collections/database";
import { AuditEntryEntity } from "./schema.ts";

/** An action to record about a field partner. `data` must not contain a token, a code or a phone. */
export interface FieldPartnerAct {
  readonly fieldPartnerId: string;
  readonly act:
    | "otp.sent"
    | "otp.not_sent"
    | "otp.tries_used_up"
    | "otp.limit_cleared"
    | "session.started"
    | "session.ended"
    | "contact.revealed"
    | "field_partner.suspended"
    | "field_partner.resumed";
  readonly reason?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A recorded action about a field partner. `data` never contains a token, a code or a phone. */
export interface FieldPartnerAuditEntry {
  readonly act: string;
  readonly reason: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/** Adds an action to the append-only audit. */
export function recordFieldPartnerAct(tx: Tx, { fieldPartnerId, act, reason, data }: FieldPartnerAct, now: Date): void {
  tx.create(AuditEntryEntity, { id: newId(), fieldPartnerId, act, reason: reason ?? null, data: { ...data }, at: now });
}

/**
 * Returns the last recorded actions about a field partner, newest first.
 *
 * @example
 * const acts = await actsOnFieldPartner(em, fieldPartnerId, 20);
 * const reveals = acts.filter(({ act }) => act === "contact.revealed");
 */
export async function actsOnFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  limit = 50,
): Promise<FieldPartnerAuditEntry[]> {
  const rows = await em.find(AuditEntryEntity, { fieldPartnerId }, { orderBy: { id: "desc" }, limit });
  return rows.map(({ act, reason, data, at }) => ({ act, reason, data, at }));
}
