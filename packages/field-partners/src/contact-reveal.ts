import { type EntityManager, query, statement, type Tx } from "@collections/database";
import { recordFieldPartnerAct } from "./audit.ts";

/** A field partner's request to see the contact details of a case's borrower. */
export interface ContactReveal {
  readonly fieldPartnerId: string;
  readonly caseId: string;
  /** The start of the current day in the field partner's time zone. */
  readonly dayStart: Date;
  /** Whether this repeats a request that was answered before. A repeat on the same day is not recorded again. */
  readonly isRepeat: boolean;
}

/** A field partner's access to the contact data of a case. */
export interface RecordedReveal {
  readonly fieldPartnerId: string;
  readonly at: Date;
}

/**
 * Returns the last accesses of field partners to the contact data of a case, newest first.
 *
 * @example
 * const [last] = await contactRevealsOf(em, caseId, 1);
 * const seenBy = last?.fieldPartnerId;
 */
export async function contactRevealsOf(em: EntityManager, caseId: string, limit = 50): Promise<RecordedReveal[]> {
  return query(em, selectReveals, [caseId, limit]);
}

export const selectReveals = statement(
  "field-partners.reveals-of-case",
  `select field_partner_id as "fieldPartnerId", at from field_partners.audit_entry
   where act = 'contact.revealed' and data->>'caseId' = $1::text
   order by id desc limit $2::bigint`,
);

/** Locks the field partner, so that two concurrent requests are counted one after the other. */
const lockFieldPartner = statement(
  "field-partners.lock-for-reveal",
  `select id from field_partners.field_partner where id = $1 for no key update`,
);

const countToday = statement(
  "field-partners.count-reveals",
  `select count(distinct data ->> 'caseId') filter (where data ->> 'caseId' <> $3)::integer as others,
     count(*) filter (where data ->> 'caseId' = $3) > 0 as "isSeen"
   from field_partners.audit_entry
   where field_partner_id = $1 and act = 'contact.revealed' and at >= $2`,
);

/**
 * Records in the audit that a field partner sees the contact details of a case's borrower, and returns true. If the
 * field partner has already seen the contact details of `perDay` other cases on this day, records nothing and returns
 * false. Each case counts once a day.
 *
 * @example
 * const dayStart = new Date("2026-11-19T18:30:00Z");
 * const reveal = { fieldPartnerId, caseId, dayStart, isRepeat: false };
 * const maySee = await recordContactReveal(tx, reveal, 60, now);
 */
export async function recordContactReveal(
  tx: Tx,
  { fieldPartnerId, caseId, dayStart, isRepeat }: ContactReveal,
  perDay: number,
  now: Date,
): Promise<boolean> {
  await query(tx, lockFieldPartner, [fieldPartnerId]);
  const [today] = await query<{ others: number; isSeen: boolean }>(tx, countToday, [fieldPartnerId, dayStart, caseId]);
  if (isRepeat && today!.isSeen) return true;
  if (today!.others >= perDay) return false;
  const actor = `field_partner:${fieldPartnerId}` as const;
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "contact.revealed", data: { caseId }, actor }, now);
  return true;
}
