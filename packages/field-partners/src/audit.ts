import {
  type Actor,
  AFTER_ALL_IDS,
  currentActor,
  firstIdSince,
  newestOfEachKind,
  newId,
  query,
  statement,
} from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
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
    | "field_partner.created"
    | "field_partner.suspended"
    | "field_partner.resumed"
    | "field_partner.updated";
  readonly reason?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>>;
  /** The actor. Default: the actor of the running work. */
  readonly actor?: Actor | undefined;
}

/** A recorded action about a field partner. `data` never contains a token, a code or a phone. */
export interface FieldPartnerAuditEntry {
  readonly act: string;
  readonly reason: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: Date;
  /** The actor. Null in entries that an older version of the service wrote. */
  readonly actor: Actor | null;
}

/** Adds an action to the append-only audit. */
export function recordFieldPartnerAct(tx: Tx, done: FieldPartnerAct, now: Date): void {
  const { fieldPartnerId, act, reason = null, data, actor = currentActor() } = done;
  tx.create(AuditEntryEntity, { id: newId(), fieldPartnerId, act, reason, data: { ...data }, at: now, actor });
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
  return rows.map(({ act, reason, data, at, actor }) => ({ act, reason, data, at, actor }));
}

/** Which entries of the field partners' audit to list. An absent field does not restrict the list. */
export interface FieldPartnerAuditFilter {
  readonly fieldPartnerId?: string | undefined;
  /** Only actions whose kind begins with this text, such as `session.` or `contact.revealed`. */
  readonly act?: string | undefined;
  /** Only actions of this actor. */
  readonly actor?: Actor | undefined;
  readonly since?: Date | undefined;
  /** Only entries before the entry with this id, which is the last of the previous page. */
  readonly before?: string | undefined;
  /** The maximum number of entries, 1 or more. */
  readonly limit: number;
}

/** A recorded action, its id, and the field partner whom it concerns. */
export type ListedFieldPartnerAct = FieldPartnerAuditEntry & { readonly id: string; readonly fieldPartnerId: string };

/**
 * Returns a page of the recorded actions about all field partners or about one, newest first.
 *
 * @example
 * const reveals = await actsOnFieldPartners(em, { act: "contact.revealed", limit: 50 });
 * const people = new Set(reveals.map(({ fieldPartnerId }) => fieldPartnerId));
 */
export async function actsOnFieldPartners(
  em: EntityManager,
  { fieldPartnerId, act, actor, since, before, limit }: FieldPartnerAuditFilter,
): Promise<ListedFieldPartnerAct[]> {
  const page = [before ?? AFTER_ALL_IDS, limit, since?.toISOString() ?? null, firstIdSince(since)];
  if (fieldPartnerId !== undefined) return query(em, selectOfOne, [...page, act ?? "", actor ?? null, fieldPartnerId]);
  if (actor !== undefined) return query(em, selectByActor, [...page, act ?? "", actor]);
  if (act !== undefined && act !== "") return query(em, selectByAct, [...page, act]);
  return query(em, selectOfAll, page);
}

const LISTED = `a.id, a.field_partner_id as "fieldPartnerId", a.act, a.reason, a.data, a.at, a.actor`;
const IN_PAGE = `a.id < $1::uuid and a.id >= $4::uuid and ($3::timestamptz is null or a.at >= $3::timestamptz)`;

export const selectOfAll = statement(
  "field-partners.acts",
  `select ${LISTED} from field_partners.audit_entry a where ${IN_PAGE} order by a.id desc limit $2::bigint`,
);
export const selectOfOne = statement(
  "field-partners.acts-on-one",
  `select ${LISTED} from field_partners.audit_entry a
   where a.field_partner_id = $7::uuid and ${IN_PAGE}
     and starts_with(a.act, $5::text) and ($6::text is null or a.actor = $6::text)
   order by a.id desc limit $2::bigint`,
);
export const selectByAct = listByAct("field-partners.acts-by-kind", "true");
export const selectByActor = listByAct("field-partners.acts-by-actor", "a.actor = $6::text");

/** Lists the newest entries of the kinds that begin with $5. */
function listByAct(name: string, where: string) {
  const page = { inPage: IN_PAGE, prefix: "$5::text", limit: "$2::bigint" };
  const text = newestOfEachKind({ table: "field_partners.audit_entry", columns: LISTED, kind: "act", where, ...page });
  return statement(name, text);
}
