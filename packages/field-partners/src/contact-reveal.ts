import { joinedRows, query, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { recordFieldPartnerAct } from "./audit.ts";
import type { FieldPartner } from "./field-partner.ts";
import { FieldPartnerEntity } from "./schema.ts";

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

/** The accesses to the contact data of a case, and field partners. */
export interface RevealsWithPeople {
  /** Newest first. */
  readonly reveals: readonly RecordedReveal[];
  /** The field partners of `reveals` and the other requested field partners, by id. */
  readonly fieldPartners: ReadonlyMap<string, FieldPartner>;
}

/**
 * Returns the last accesses of field partners to the contact data of a case, and the field partners who had access, in one
 * query. Also returns the field partners with the ids `others`.
 *
 * @example
 * const { reveals, fieldPartners } = await contactRevealsOf(em, caseId, { others: [fieldPartnerId], limit: 1 });
 * const seenBy = reveals.map((reveal) => fieldPartners.get(reveal.fieldPartnerId)?.displayName);
 */
export async function contactRevealsOf(
  em: EntityManager,
  caseId: string,
  { others = [], limit = 50 }: { readonly others?: readonly string[]; readonly limit?: number } = {},
): Promise<RevealsWithPeople> {
  const rows = await query<Record<string, unknown>>(em, selectReveals, [caseId, others, limit]);
  const people = joinedRows<FieldPartner>(rows, "person.", "id");
  return {
    reveals: joinedRows<RecordedReveal>(rows, "reveal."),
    fieldPartners: new Map(people.map((person) => [person.id, person])),
  };
}

export const selectReveals = statement(
  "field-partners.reveals-of-case",
  `with reveal as materialized (
     select a.id, a.field_partner_id, a.at from field_partners.audit_entry a
     where a.act = 'contact.revealed' and a.data->>'caseId' = $1::text
     order by a.id desc limit $3::bigint
   )
   select ${tableOf(FieldPartnerEntity).selectList("p", undefined, "person.")},
     r.field_partner_id as "reveal.fieldPartnerId", r.at as "reveal.at"
   from field_partners.field_partner p
   left join reveal r on r.field_partner_id = p.id
   where p.id = any ($2::uuid[] || array(select v.field_partner_id from reveal v))
   order by r.id desc`,
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
