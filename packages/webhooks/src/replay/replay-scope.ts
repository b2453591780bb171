import { BEFORE_ALL_IDS, type EntityManager, query, statement, type Statement } from "@collections/database";
import { idAfter, idBefore } from "../storage/id-time.ts";
import { streamOf } from "../endpoint/old-names.ts";
import { ofEndpoint } from "./of-endpoint.ts";
import type { ReplayFilter, ReplayRow } from "./replay.ts";

/** The time limit of queries that read many rows: as long as the server allows. */
const LONG_READ = { timeoutMs: 35_000 };

/** The filter of a replay, as its row stores it. A field that is null does not restrict the deliveries. */
export type ReplayScope = Pick<ReplayRow, "loan" | "kind" | "states" | "createdFrom" | "createdTo"> & {
  readonly lenderId: string;
};

/** The result of reading a range of deliveries. */
export interface ScopeRead {
  /** The ids of matching deliveries in their order, up to the requested number. */
  readonly ids: string[];
  /** The last delivery that was read. Null if there was none. */
  readonly last: string | null;
  /** How many deliveries were read. */
  readonly looked: number;
}

export function scopeOf(lenderId: string, filter: ReplayFilter): ReplayScope {
  return {
    lenderId,
    loan: streamOf(filter) ?? null,
    kind: filter.kind ?? null,
    states: [...new Set(filter.states ?? ["parked"])].toSorted(),
    createdFrom: filter.createdFrom ?? null,
    createdTo: filter.createdTo ?? null,
  };
}

/**
 * Returns a range of ids that contains all deliveries of a scope, according to their times. `after` is not in the
 * range.
 */
export function idsOf({ createdFrom, createdTo }: ReplayScope): { after: string | null; upTo: string | null } {
  return {
    after: createdFrom ? idBefore(createdFrom) : null,
    upTo: createdTo ? idAfter(createdTo) : null,
  };
}

/** Counts the matching deliveries up to the id `upTo`. */
export async function countMatches(em: EntityManager, scope: ReplayScope, upTo: string): Promise<number> {
  const values = [scope.lenderId, idsOf(scope).after ?? BEFORE_ALL_IDS, upTo, ...conditionsOf(scope), null];
  const [row] = await query<{ count: number }>(em, ...withLoan(COUNT, scope, values), LONG_READ);
  return row?.count ?? 0;
}

/**
 * Reads at most `maxRows` deliveries with ids after `after` and up to `upTo`. Returns the first `count` of them that
 * match and were settled at `settledBy` or earlier.
 */
export async function readScope(
  em: EntityManager,
  scope: ReplayScope,
  range: { after: string | null; upTo: string; settledBy: string; maxRows: number; count: number },
): Promise<ScopeRead> {
  const { after, upTo, settledBy, maxRows, count } = range;
  const values = [scope.lenderId, after ?? BEFORE_ALL_IDS, upTo, ...conditionsOf(scope), settledBy, maxRows, count];
  const [read] = await query<ScopeRead>(em, ...withLoan(READ, scope, values));
  return read as ScopeRead;
}

function conditionsOf({ kind, states, createdFrom, createdTo }: ReplayScope): unknown[] {
  return [kind, states, createdFrom?.toISOString() ?? null, createdTo?.toISOString() ?? null];
}

/** One query for each access path: by the loan's events, by the index of parked deliveries, and by id. */
interface AccessPaths {
  readonly ofLoan: Statement;
  readonly parked: Statement;
  readonly all: Statement;
}

function withLoan(paths: AccessPaths, { loan, states }: ReplayScope, values: unknown[]): [Statement, unknown[]] {
  if (loan !== null && loan !== undefined) return [paths.ofLoan, [...values, loan]];
  return [states.length === 1 && states[0] === "parked" ? paths.parked : paths.all, values];
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

export const COUNT: AccessPaths = {
  ofLoan: countIn("loan", ofLoan("$9")),
  parked: countIn("parked", `(select * from ${PARKED} order by d.endpoint_id, d.id) d where true`),
  all: countIn("all", ALL),
};

export const READ: AccessPaths = {
  ofLoan: readIn("loan", ofLoan("$11")),
  parked: readIn("parked", PARKED, "d.endpoint_id, d.id"),
  all: readIn("all", ALL),
};

function countIn(path: string, rows: string): Statement {
  return statement(`webhooks.replay-count-${path}`, `select count(*)::int as count from ${rows} and ${MATCHES}`);
}

function readIn(path: string, rows: string, order = "d.id"): Statement {
  return statement(
    `webhooks.replay-look-${path}`,
    `with looked as materialized (
       select d.id, ${MATCHES} as matches from ${rows} order by ${order} limit $9
     )
     select array(select id from looked where matches order by id limit $10) as ids,
       (select id from looked order by id desc limit 1) as last,
       (select count(*)::int from looked) as looked`,
  );
}
