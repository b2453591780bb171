import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";

/** A process's request for permits of one limit. All numbers are whole and at least 0. */
export interface PermitRequest {
  /** Who is limited: the id of an API key, or an address. */
  readonly subject: string;
  readonly limit: string;
  /** The maximum number of uses in any window. */
  readonly quota: number;
  /** The number of permits needed now. */
  readonly need: number;
  /** The number of permits to prefetch for later uses. */
  readonly ahead: number;
  /** Prefetched permits to give back, with the `aheadAt` of their grant. */
  readonly unused: { readonly count: number; readonly aheadAt: bigint } | undefined;
}

/** The permits that a process received for one limit. All numbers are whole and at least 0. */
export interface PermitGrant {
  /** The number of permits granted out of `need`. They count as used now. */
  readonly granted: number;
  /** The prefetched permits. They may be used within `aheadMs` after the request. */
  readonly ahead: number;
  /**
   * The time at which the prefetched permits count as used, in milliseconds since 1970: `aheadMs` after the request.
   */
  readonly aheadAt: bigint;
  /** The permits of the quota that no process has taken. */
  readonly remaining: number;
  /** The time until the oldest use stops counting. */
  readonly freesInMs: number;
}

/** How uses are counted. The rules apply to all limits of a query. */
export interface PermitRules {
  /** The length of the window. The quota applies to every window of this length. */
  readonly windowMs: number;
  /** How long prefetched permits may be used. */
  readonly aheadMs: number;
  /** How long to wait for the answer of the database. */
  readonly timeoutMs: number;
}

/**
 * The window is lengthened by this time, because times are stored in whole milliseconds: the time between two uses can
 * be up to 1 ms shorter than the difference of their stored times.
 */
const ROUNDING_MS = 1;

const take = statement(
  "rate-limits.take-permits",
  `select granted, ahead, ahead_at_ms as "aheadAt", remaining, frees_in_ms as "freesInMs"
   from rate_limits.take_permits($1::text[], $2::text[], $3::int[], $4::int[], $5::int[], $6::bigint[], $7::int[], $8, $9)
   order by place`,
);

const forget = statement(
  "rate-limits.forget-permits",
  `delete from rate_limits.permit_window where (subject, limit_name) in (
     select subject, limit_name from rate_limits.permit_window
     where taken_at < now() - $1 * interval '2 milliseconds' for update skip locked)`,
);

/**
 * Takes permits of many limits in one query. Returns one grant for each request, in the same order. Each pair of
 * subject and limit may occur only once. Over all processes, no window of `windowMs` ever has more uses than `quota`.
 * All times come from PostgreSQL's clock, and a prefetched permit counts as used at the last moment at which it may be
 * used. contract: Limits
 *
 * @example
 * const request = { subject: keyId, limit: "confirm", quota: 60_000, need: 1, ahead: 0, unused: undefined };
 * const rules = { windowMs: 60_000, aheadMs: 1_000, timeoutMs: 500 };
 * const [grant] = await takePermits(em, [request], rules);
 * if (grant?.granted === 0) throw new Error(`Try again in ${grant.freesInMs} ms.`);
 */
export async function takePermits(
  em: EntityManager,
  requests: readonly PermitRequest[],
  { windowMs, aheadMs, timeoutMs }: PermitRules,
): Promise<PermitGrant[]> {
  const values = [
    requests.map(({ subject }) => subject),
    requests.map(({ limit }) => limit),
    requests.map(({ quota }) => quota),
    requests.map(({ need }) => need),
    requests.map(({ ahead }) => ahead),
    requests.map(({ unused }) => unused?.aheadAt ?? null),
    requests.map(({ unused }) => unused?.count ?? null),
    windowMs + ROUNDING_MS,
    aheadMs,
  ];
  const grants = await query<PermitGrant>(em, take, values, { timeoutMs });
  return grants.map((grant) => ({ ...grant, freesInMs: Math.min(grant.freesInMs, windowMs) }));
}

/**
 * Deletes the rows of subjects without a request in the last two windows. None of their uses counts any more.
 *
 * @example
 * await forgetPermits(em, 60_000);
 */
export async function forgetPermits(em: EntityManager, windowMs: number): Promise<void> {
  await query(em, forget, [windowMs]);
}
