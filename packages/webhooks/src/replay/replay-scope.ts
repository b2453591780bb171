import { BEFORE_ALL_IDS, type EntityManager, query, statement, type Statement } from "@collections/database";
import { idAfter, idBefore } from "../storage/id-time.ts";
import { ofEndpoint } from "./of-endpoint.ts";
import type { Replay, ReplayFilter } from "./replay.ts";

/** Reads of many rows: as long as the server itself allows a statement. */
const PATIENT = { timeoutMs: 35_000 };

/** The deliveries that a replay is about, as its row keeps them: what is null does not restrict. */
export type ReplayScope = Pick<Replay, "loan" | "kind" | "states" | "createdFrom" | "createdTo"> & {
  readonly lenderId: string;
};

/** What one look at a stretch of deliveries has found. */
export interface Look {
  /** Those that match, in the order of their ids, up to the number that was asked for. */
  readonly ids: string[];
  /** The last one that was looked at; null when there was none. */
  readonly last: string | null;
  /** How many were looked at. */
  readonly looked: number;
}

export function scopeOf(lenderId: string, filter: ReplayFilter): ReplayScope {
  return {
    lenderId,
    loan: filter.loan ?? null,
    kind: filter.kind ?? null,
    states: [...new Set(filter.states ?? ["parked"])].toSorted(),
    createdFrom: filter.createdFrom ?? null,
    createdTo: filter.createdTo ?? null,
  };
}

/** The ids between which all of a scope's deliveries lie by their time; the first is excluded. */
export function idsOf({ createdFrom, createdTo }: ReplayScope): { after: string | null; upTo: string | null } {
  return {
    after: createdFrom ? idBefore(createdFrom) : null,
    upTo: createdTo ? idAfter(createdTo) : null,
  };
}

/** How many deliveries match up to the id `upTo`. */
export async function countMatches(em: EntityManager, scope: ReplayScope, upTo: string): Promise<number> {
  const values = [scope.lenderId, idsOf(scope).after ?? BEFORE_ALL_IDS, upTo, ...conditionsOf(scope), null];
  const [row] = await query<{ count: number }>(em, ...withLoan(COUNT, scope, values), PATIENT);
  return row?.count ?? 0;
}

/**
 * Looks at no more than `maxRows` deliveries behind `after`, up to `upTo`, for the first `count` that match and were
 * settled by `settledBy`.
 */
export async function lookFor(
  em: EntityManager,
  scope: ReplayScope,
  stretch: { after: string | null; upTo: string; settledBy: string; maxRows: number; count: number },
): Promise<Look> {
  const { after, upTo, settledBy, maxRows, count } = stretch;
  const values = [scope.lenderId, after ?? BEFORE_ALL_IDS, upTo, ...conditionsOf(scope), settledBy, maxRows, count];
  const [look] = await query<Look>(em, ...withLoan(LOOK, scope, values));
  return look as Look;
}

function conditionsOf({ kind, states, createdFrom, createdTo }: ReplayScope): unknown[] {
  return [kind, states, createdFrom?.toISOString() ?? null, createdTo?.toISOString() ?? null];
}

/** One statement for each way to the rows: by the loan's events, by the index of parked ones, by id. */
interface Ways {
  readonly ofLoan: Statement;
  readonly parked: Statement;
  readonly all: Statement;
}

function withLoan(ways: Ways, { loan, states }: ReplayScope, values: unknown[]): [Statement, unknown[]] {
  if (loan !== null && loan !== undefined) return [ways.ofLoan, [...values, loan]];
  return [states.length === 1 && states[0] === "parked" ? ways.parked : ways.all, values];
}

const ALL = `webhooks.delivery d where d.lender_id = $1 and d.id > $2 and d.id <= $3`;

const PARKED = `webhooks.delivery d where d.state = 'parked' and ${ofEndpoint("$2", "$3")}`;

function ofLoan(loan: string): string {
  return `webhooks.delivery d
  where d.lender_id = $1 and d.id = any (array(
    select id from webhooks.event
    where source_loan_number = ${loan} and lender_id = $1 and id > $2 and id <= $3))`;
}

const MATCHES = `($4::text is null or d.kind = $4) and d.state = any ($5::text[])
  and ($6::timestamptz is null or d.created_at >= $6) and ($7::timestamptz is null or d.created_at < $7)
  and d.settled_at <= coalesce($8::timestamptz, now())`;

export const COUNT: Ways = {
  ofLoan: countIn("loan", ofLoan("$9")),
  parked: countIn("parked", `(select * from ${PARKED} order by d.endpoint_id, d.id) d where true`),
  all: countIn("all", ALL),
};

export const LOOK: Ways = {
  ofLoan: lookIn("loan", ofLoan("$11")),
  parked: lookIn("parked", PARKED, "d.endpoint_id, d.id"),
  all: lookIn("all", ALL),
};

function countIn(way: string, rows: string): Statement {
  return statement(`webhooks.replay-count-${way}`, `select count(*)::int as count from ${rows} and ${MATCHES}`);
}

function lookIn(way: string, rows: string, order = "d.id"): Statement {
  return statement(
    `webhooks.replay-look-${way}`,
    `with looked as materialized (
       select d.id, ${MATCHES} as matches from ${rows} order by ${order} limit $9
     )
     select array(select id from looked where matches order by id limit $10) as ids,
       (select id from looked order by id desc limit 1) as last,
       (select count(*)::int from looked) as looked`,
  );
}
