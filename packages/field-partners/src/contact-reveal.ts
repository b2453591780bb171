import { query, statement, type Tx } from "@collections/database";
import { recordFieldPartnerAct } from "./audit.ts";

/** Whose contact a field partner wants to see, and when their day began. */
export interface ContactReveal {
  readonly fieldPartnerId: string;
  readonly caseId: string;
  readonly dayBegan: Date;
  /** The request was answered before: on the same day it is still one look. */
  readonly isRepeat: boolean;
}

/** One at a time for each field partner: of two that ask at once the second one counts the first. */
const lockOne = statement(
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
 * Keeps in the audit that a field partner sees how to reach a case's borrower. False, and nothing kept, when they have
 * seen as many other cases' contacts on this day as they may; the same case counts once a day.
 *
 * @example
 * const dayBegan = new Date("2026-11-19T18:30:00Z");
 * const reveal = { fieldPartnerId, caseId, dayBegan, isRepeat: false };
 * const maySee = await takeContactReveal(tx, reveal, 60, now);
 */
export async function takeContactReveal(
  tx: Tx,
  { fieldPartnerId, caseId, dayBegan, isRepeat }: ContactReveal,
  perDay: number,
  now: Date,
): Promise<boolean> {
  await query(tx, lockOne, [fieldPartnerId]);
  const [today] = await query<{ others: number; isSeen: boolean }>(tx, countToday, [fieldPartnerId, dayBegan, caseId]);
  if (isRepeat && today!.isSeen) return true;
  if (today!.others >= perDay) return false;
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "contact.revealed", data: { caseId } }, now);
  return true;
}
