import { type EntityManager, query, statement } from "@collections/database";

/** What a process asks of one limit. All numbers are whole and at least 0. */
export interface PermitAsk {
  /** Who is limited: the id of an API key, or an address. */
  readonly subject: string;
  readonly limit: string;
  /** Permits in any window. */
  readonly quota: number;
  /** For requests that wait now. */
  readonly need: number;
  /** For requests that may come soon. */
  readonly ahead: number;
  /** Of what was taken ahead earlier: what came back unused, and the `aheadAt` of its grant. */
  readonly unused: { readonly count: number; readonly aheadAt: bigint } | undefined;
}

/** What a process got of one limit. All numbers are whole and at least 0. */
export interface PermitGrant {
  /** Of `need`: used as of now. */
  readonly granted: number;
  /** Of `ahead`: to be used within `aheadMs` from the question, or never. */
  readonly ahead: number;
  readonly aheadAt: bigint;
  /** What nobody holds. */
  readonly remaining: number;
  /** Until the oldest use stops counting. */
  readonly freesInMs: number;
}

/** How uses are counted: in any window of `windowMs`, for every limit of a question alike. */
export interface PermitRules {
  readonly windowMs: number;
  /** How long permits taken ahead of need may be used. */
  readonly aheadMs: number;
  /** The limit on the answer's time; no request may wait longer for leave to begin. */
  readonly timeoutMs: number;
}

/** Moments are kept as whole milliseconds: two that are a window apart by them may be nearly so much less. */
const CUT_MS = 1;

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
 * Takes permits of many limits in one statement; one grant per ask, in their order, each pair of subject and limit at most
 * once. Over all processes no window of `windowMs` ever sees more uses than `quota`: PostgreSQL's clock alone decides, and
 * a permit taken ahead counts until a window after the last moment it may be used. contract: Limits
 *
 * @example
 * const ask = { subject: keyId, limit: "confirm", quota: 60_000, need: 1, ahead: 0, unused: undefined };
 * const rules = { windowMs: 60_000, aheadMs: 1_000, timeoutMs: 500 };
 * const [grant] = await takePermits(em, [ask], rules);
 * if (grant?.granted === 0) throw new Error(`Come back in ${grant.freesInMs} ms.`);
 */
export async function takePermits(
  em: EntityManager,
  asks: readonly PermitAsk[],
  { windowMs, aheadMs, timeoutMs }: PermitRules,
): Promise<PermitGrant[]> {
  const values = [
    asks.map(({ subject }) => subject),
    asks.map(({ limit }) => limit),
    asks.map(({ quota }) => quota),
    asks.map(({ need }) => need),
    asks.map(({ ahead }) => ahead),
    asks.map(({ unused }) => unused?.aheadAt ?? null),
    asks.map(({ unused }) => unused?.count ?? null),
    windowMs + CUT_MS,
    aheadMs,
  ];
  const grants = await query<PermitGrant>(em, take, values, { timeoutMs });
  return grants.map((grant) => ({ ...grant, freesInMs: Math.min(grant.freesInMs, windowMs) }));
}

/**
 * Forgets who has asked for nothing in two windows: nothing of theirs counts any more.
 *
 * @example
 * await forgetPermits(em, 60_000);
 */
export async function forgetPermits(em: EntityManager, windowMs: number): Promise<void> {
  await query(em, forget, [windowMs]);
}
