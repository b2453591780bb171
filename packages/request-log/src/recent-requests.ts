import { AFTER_ALL_IDS, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { LoggedRequest } from "./schema.ts";

/** Which requests of a lender to read, the latest first. */
export interface RequestSearch {
  /** Only requests with an id before this one. */
  readonly before?: string | undefined;
  readonly onlyFailed: boolean;
  /** Only requests whose path contains this text, in upper or lower case. */
  readonly path?: string | undefined;
  readonly limit: number;
}

/** The requests that were found. */
export interface FoundRequests {
  readonly requests: readonly Omit<LoggedRequest, "lenderId">[];
  /** The id up to which the search has read, if it ended before it found `limit` requests and there are more to read. */
  readonly searchedTo: string | undefined;
}

/** The most requests that one search reads. A search for a rare path continues on the next page. */
const MOST_READ = 20_000;

/**
 * Finds the latest requests of a lender, the latest first. One search reads 20,000 requests at most.
 *
 * @example
 * const { requests } = await recentRequests(em, lenderId, { onlyFailed: true, limit: 50 });
 * for (const { method, path, status, code } of requests) console.log(`${method} ${path}: ${status} ${code ?? ""}`);
 */
export async function recentRequests(
  em: EntityManager,
  lenderId: string,
  { before = AFTER_ALL_IDS, onlyFailed, path, limit }: RequestSearch,
): Promise<FoundRequests> {
  const values = [lenderId, before, MOST_READ, path?.toLowerCase() ?? "", limit];
  const rows = await query<LoggedRequest & { readonly last: string | null; readonly count: number }>(
    em,
    onlyFailed ? selectFailed : selectAll,
    values,
  );
  const { last, count } = rows[0]!;
  // Without a result, the only row has nulls.
  const requests = rows.filter(({ id }) => id !== null);
  const isCut = requests.length < limit && count === MOST_READ;
  return { requests, searchedTo: isCut ? last! : undefined };
}

/**
 * Tells whether a lender has ever sent a successful signed request to an endpoint.
 *
 * @example
 * if (!(await hasUsed(em, lenderId, "health"))) console.log("The lender has not called health yet.");
 */
export async function hasUsed(em: EntityManager, lenderId: string, endpoint: string): Promise<boolean> {
  return (await query(em, selectUse, [lenderId, endpoint])).length > 0;
}

const textOf = (condition: string) => `with scanned as materialized (
     select r.* from request_log.request r
     where r.lender_id = $1 and r.id < $2 ${condition} order by r.id desc limit (select $3::bigint)
   )
   select s.last, s.count, f.id, f.received_at as "receivedAt", f.key_id as "keyId", f.is_signed as "isSigned", f.method,
     f.path, f.endpoint, f.status, f.code, f.duration_ms as "durationMs"
   from (select (min(id::text))::uuid as last, count(*)::integer as count from scanned) s
   left join (
     select * from scanned where position($4::text in lower(path)) > 0 order by id desc limit (select $5::bigint)
   ) f on true
   order by f.id desc`;

export const selectAll = statement("request-log.latest", textOf(""));
export const selectFailed = statement("request-log.latest-failed", textOf("and r.status >= 400"));

const selectUse = statement(
  "request-log.has-used",
  `select 1 from request_log.first_use where lender_id = $1 and endpoint = $2`,
);
