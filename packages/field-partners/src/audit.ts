import { type EntityManager, newId, query, send, statement, type Tx } from "@collections/database";

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

const insert = statement(
  "field-partners.record-act",
  `insert into field_partners.audit_entry (id, field_partner_id, act, reason, data, at) values ($1, $2, $3, $4, $5, $6)`,
);

const newest = statement(
  "field-partners.acts-on",
  `select act, reason, data, at from field_partners.audit_entry where field_partner_id = $1 order by id desc limit $2`,
);

/** Adds an action to the append-only audit. */
export function recordFieldPartnerAct(tx: Tx, { fieldPartnerId, act, reason, data }: FieldPartnerAct, now: Date): void {
  send(tx, insert, [newId(), fieldPartnerId, act, reason ?? null, JSON.stringify(data ?? {}), now]);
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
  return query(em, newest, [fieldPartnerId, limit]);
}
