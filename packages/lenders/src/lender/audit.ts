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
  /** The actor. Null in entries that an older version of the service wrote. */
  readonly actor: Actor | null;
}

/**
 * Adds an action on a lender to the append-only audit. The entry names the actor of the running work: see `actingAs` of
 * `@collections/database`.
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
    actor: currentActor(),
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
  return rows.map(({ id, act, reason, data, at, actor }) => ({ id, act, reason, data, at, actor }));
}

/**
 * Returns the last recorded actions on one of a lender's loans, newest first. They are the actions whose data name the
 * loan as `loan`.
 *
 * @example
 * const acts = await actsOnLoan(em, lenderId, "LN-1001");
 * const holds = acts.filter(({ act }) => act === "case.hold");
 */
export async function actsOnLoan(em: EntityManager, lenderId: string, loan: string, limit = 50): Promise<AuditEntry[]> {
  return query(em, selectOfLoan, [lenderId, loan, limit]);
}

export const selectOfLoan = statement(
  "lenders.acts-on-loan",
  `select id, act, reason, data, at, actor from lenders.audit_entry
   where lender_id = $1 and data->>'loan' = $2::text
   order by id desc limit $3::bigint`,
);

/** Which entries of the audit to list. An absent field does not restrict the list. */
export interface AuditFilter {
  /** Only actions whose kind begins with this text, such as `case.` or `lender.updated`. */
  readonly act?: string | undefined;
  /** Only actions of this actor. */
  readonly actor?: Actor | undefined;
  readonly since?: Date | undefined;
  /** Only entries before the entry with this id, which is the last of the previous page. */
  readonly before?: string | undefined;
  /** The maximum number of entries, 1 or more. */
  readonly limit: number;
}

/** A recorded action, and the lender on which it was done. */
export type LenderAuditEntry = AuditEntry & { readonly lenderId: string };

/**
 * Returns a page of the recorded actions on some lenders, newest first. Makes one query for each lender.
 *
 * @example
 * const acts = await actsOnLenders(em, [lenderId], { act: "lender.", limit: 50 });
 * const older = await actsOnLenders(em, [lenderId], { act: "lender.", limit: 50, before: acts.at(-1)?.id });
 */
export async function actsOnLenders(
  em: EntityManager,
  lenderIds: readonly string[],
  { act, actor, since, before, limit }: AuditFilter,
): Promise<LenderAuditEntry[]> {
  const page = [before ?? AFTER_ALL_IDS, limit, since?.toISOString() ?? null, firstIdSince(since)];
  const entries: LenderAuditEntry[] = [];
  for (const lenderId of lenderIds) {
    entries.push(...(await actsOnLender(em, [lenderId, ...page], { act, actor })));
  }
  return entries.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
}

function actsOnLender(
  em: EntityManager,
  page: readonly unknown[],
  { act = "", actor }: Pick<AuditFilter, "act" | "actor">,
) {
  if (actor !== undefined) return query<LenderAuditEntry>(em, selectByActor, [...page, act, actor]);
  if (act !== "") return query<LenderAuditEntry>(em, selectByAct, [...page, act]);
  return query<LenderAuditEntry>(em, selectOfLender, page);
}

const LISTED = `a.lender_id as "lenderId", a.id, a.act, a.reason, a.data, a.at, a.actor`;
const IN_PAGE = `a.id < $2::uuid and a.id >= $5::uuid and ($4::timestamptz is null or a.at >= $4::timestamptz)`;

export const selectOfLender = statement(
  "lenders.acts-on-lender",
  `select ${LISTED} from lenders.audit_entry a
   where a.lender_id = $1 and ${IN_PAGE} order by a.id desc limit $3::bigint`,
);
export const selectByAct = listByAct("lenders.acts-by-kind", "a.lender_id = $1");
export const selectByActor = listByAct("lenders.acts-by-actor", "a.lender_id = $1 and a.actor = $7::text");

/** Lists the newest entries of the kinds that begin with $6. */
function listByAct(name: string, where: string) {
  const page = { inPage: IN_PAGE, prefix: "$6::text", limit: "$3::bigint" };
  const text = newestOfEachKind({ table: "lenders.audit_entry", columns: LISTED, kind: "act", where, ...page });
  return statement(name, text);
}

/** Checks the reason of an action. Throws InvalidLenderError. */
export function checkReason(reason: string): void {
  if (reason.trim() !== "" && reason.length <= 500) return;
  throw new InvalidLenderError([
    { code: "REQUIRED", field: "reason", detail: "Give a reason of 1 to 500 characters. The audit keeps it." },
  ]);
}
