import {
  allLendersStatement,
  type EntityManager,
  newId,
  query,
  queryReachable,
  statement,
  transaction,
  type Tx,
} from "@collections/database";
import { type Delivery, deliveryTable } from "../storage/delivery.ts";
import { NEVER } from "../endpoint/suspension.ts";

/** A lease lasts this much longer than the timeout of an attempt, unless the host sets another time. */
export const DEFAULT_LEASE_BEYOND_TIMEOUT_MS = 15_000;
/**
 * A lease lasts longer than the timeout of an attempt; the additional time is for writing the result. An attempt starts
 * only if at least this share of that time remains even after a timeout.
 */
const RECORDING_SHARE = 1 / 3;
/**
 * The maximum number of loans that one query reads, so that the query stays short if few of many loans have a delivery
 * to lease.
 */
const LOANS_PER_SCAN = 5_000;
/**
 * The maximum number of loans of each lender that a shared query reads. A lender with a larger backlog gets a query of
 * its own.
 */
const LOANS_PER_SHARED_SCAN = 64;

const LEASED = ["loan", "sequence", "kind", "attempts", "replay", "createdAt"] as const;

/** A delivery that this dispatcher may attempt. A result is accepted only with its `claimId`. */
export interface LeasedDelivery extends Readonly<Pick<Delivery, (typeof LEASED)[number]>> {
  readonly deliveryId: string;
  readonly claimId: string;
  readonly body: string;
  readonly url: string;
  /**
   * The latest time, on this process's monotonic clock, at which an attempt may start and still end within its lease.
   */
  readonly startBefore: number;
  /** Whether the attempt is the only one that the endpoint may get now, see `leaseInTurn`. */
  readonly isPaced: boolean;
}

export interface LeaseRequest {
  readonly lenderId: string;
  readonly count: number;
  /**
   * Read only the loans that sort after this loan number, so that the first loans cannot starve later loans. "" reads
   * all loans.
   */
  readonly afterLoan: string;
  /** Skip retries and replays, and the loans whose next delivery is a retry or a replay. */
  readonly firstAttemptsOnly: boolean;
  readonly timeoutMs: number;
  /** How much longer than `timeoutMs` the lease lasts. */
  readonly beyondTimeoutMs?: number | undefined;
  /** Lease nothing after this many failures in a row, because the attempts are then paced. Default: never. */
  readonly pacedFrom?: number | undefined;
}

export interface Lease {
  /** Whether the endpoint has a URL, is active, and its attempts are not paced. */
  readonly isOpen: boolean;
  readonly deliveries: readonly LeasedDelivery[];
  /** The last loan that was read, or null if all loans were read. */
  readonly scannedUpTo: string | null;
  /** The end of the endpoint's last suspension. Null if there was none, or if nothing was leased. */
  readonly recoveredAt: Date | null;
}

interface ScannedRow {
  readonly stoppedAt: string | null;
}

type LeasedRow = ScannedRow &
  Omit<LeasedDelivery, "claimId" | "startBefore" | "isPaced"> & { readonly recoveredAt: Date | null };
type ScanRow = LeasedRow | (ScannedRow & { readonly deliveryId: null });

/**
 * Leases the next delivery of up to `count` loans, in the order of the loans. The query may end before it has found
 * `count` deliveries; the next lease then continues after `scannedUpTo`. Leases nothing for an endpoint that has no URL
 * or is suspended. The database's clock decides when a lease ends, so that processes with different clocks agree.
 */
export async function lease(em: EntityManager, request: LeaseRequest): Promise<Lease> {
  return leaseAs(em, request, newClaim(request));
}

async function leaseAs(em: EntityManager | Tx, request: LeaseRequest, claim: Claim): Promise<Lease> {
  const { lenderId, afterLoan, count, firstAttemptsOnly, pacedFrom = NEVER } = request;
  const scan = [afterLoan, count, firstAttemptsOnly, LOANS_PER_SCAN, pacedFrom];
  return leaseOf(claim, await query<ScanRow>(em, leaseHeads, [lenderId, claim.claimId, claim.leaseMs, ...scan]));
}

/** A lease of a paced endpoint. */
export interface LeaseInTurn extends Lease {
  /** The time until the next attempt may begin. 0 if nobody has to wait. */
  readonly waitMs: number;
}

/**
 * Leases one delivery of an endpoint whose attempts are paced, if its wait has ended. The endpoint then gets no other
 * attempt from any process until the result is recorded, or until the lease ends because this process has died. Leases
 * nothing for an endpoint that has no URL or is suspended. contract: Retry and suspension
 */
export async function leaseInTurn(em: EntityManager, request: LeaseRequest): Promise<LeaseInTurn> {
  const { lenderId } = request;
  const claim = { ...newClaim(request), isPaced: true };
  // Each signal of an endpoint that is suspended or has no URL comes here: it needs neither a transaction nor a lock.
  const [seen] = await query<Turn>(em, readTurn, [lenderId]);
  if (seen === undefined || seen.waitMs > 0) return { ...leaseOf(claim, []), waitMs: seen?.waitMs ?? 0 };
  return transaction(em, async (tx) => {
    const [turn] = await query<Turn>(tx, lockTurn, [lenderId]);
    if (turn === undefined || turn.waitMs > 0) return { ...leaseOf(claim, []), waitMs: turn?.waitMs ?? 0 };
    const leased = await leaseAs(tx, { ...request, count: 1, pacedFrom: NEVER }, claim);
    if (leased.deliveries.length > 0) await query(tx, holdTurn, [lenderId, claim.leaseMs]);
    return { ...leased, waitMs: 0 };
  });
}

/** Ends the turn of a paced attempt that was not made, so that another attempt may begin at once. */
export async function endTurn(em: EntityManager, lenderId: string): Promise<void> {
  await query(em, holdTurn, [lenderId, 0]);
}

/**
 * Leases deliveries of several lenders with one query. All of these leases end at the same time. Returns one lease per
 * request, in the same order.
 */
export async function leaseOfMany(em: EntityManager, requests: readonly LeaseRequest[]): Promise<Lease[]> {
  const claim = newClaim({
    timeoutMs: Math.max(...requests.map(({ timeoutMs }) => timeoutMs)),
    // All lanes of a process have the same `beyondTimeoutMs`, so the value of the first request applies to all
    // requests.
    beyondTimeoutMs: requests[0]?.beyondTimeoutMs,
  });
  const rows = await query<ScanRow & { readonly place: bigint }>(em, leaseHeadsOfMany, [
    requests.map(({ lenderId }) => lenderId),
    claim.claimId,
    claim.leaseMs,
    requests.map(({ afterLoan }) => afterLoan),
    requests.map(({ count }) => count),
    requests.map(({ firstAttemptsOnly }) => firstAttemptsOnly),
    LOANS_PER_SHARED_SCAN,
    // All lanes of a process have the same rule of suspension too.
    requests[0]?.pacedFrom ?? NEVER,
  ]);
  const scanned = Map.groupBy(rows, ({ place }) => Number(place) - 1);
  return requests.map((_request, index) => leaseOf(claim, scanned.get(index) ?? []));
}

interface Claim {
  readonly claimId: string;
  readonly leaseMs: number;
  readonly startBefore: number;
  readonly isPaced: boolean;
}

function newClaim({
  timeoutMs,
  beyondTimeoutMs = DEFAULT_LEASE_BEYOND_TIMEOUT_MS,
}: Pick<LeaseRequest, "timeoutMs" | "beyondTimeoutMs">): Claim {
  const startBefore = performance.now() + beyondTimeoutMs * (1 - RECORDING_SHARE);
  return { claimId: newId(), leaseMs: timeoutMs + beyondTimeoutMs, startBefore, isPaced: false };
}

function leaseOf({ claimId, startBefore, isPaced }: Claim, scanned: readonly ScanRow[]): Lease {
  const rows = scanned.filter((row) => row.deliveryId !== null);
  return {
    isOpen: scanned.length > 0,
    deliveries: rows.map((row) => ({ ...row, claimId, startBefore, isPaced })),
    scannedUpTo: scanned[0]?.stoppedAt ?? null,
    recoveredAt: rows[0]?.recoveredAt ?? null,
  };
}

/** Gives leases back, so that other dispatchers need not wait until the leases end. */
export async function release(em: EntityManager, lenderId: string, leased: readonly LeasedDelivery[]): Promise<void> {
  if (leased.length === 0) return;
  const ids = leased.map(({ deliveryId }) => deliveryId);
  const claims = leased.map(({ claimId }) => claimId);
  await query(em, releaseLeases, [lenderId, ids, claims]);
}

/** Returns the lenders that may have a due delivery. Polling with this query finds deliveries whose signal was lost. */
export async function lendersWithBacklog(em: EntityManager): Promise<string[]> {
  const rows = await queryReachable<{ lenderId: string }>(em, selectBacklogs, []);
  return rows.map(({ lenderId }) => lenderId);
}

/** The arguments of a scan as SQL expressions: parameters of the query, or columns of a list of scans. */
interface ScanText {
  readonly lenderId: string;
  readonly afterLoan: string;
  readonly count: string;
  readonly firstAttemptsOnly: string;
  readonly mostLoans: string;
  readonly pacedFrom: string;
}

// Builds the part of a query that finds and locks the deliveries to lease. Each step of the recursion probes the index
// for the first waiting delivery (the head) of the next loan. The recursion stops when the outer LIMIT is reached. A
// head that is a retry or a replay is not leased while a later event of its loan is in flight. After a recovery, the
// backlog is sent in order: an event from before the recovery that waits for its retry blocks the later events of its
// loan. Ranges with ORDER BY and LIMIT are used instead of joins, so that a plan that was made while the tables were
// empty uses the right indexes when they are full. A head is locked by its ctid: this saves a search of the primary key.
// `not in (…)` keeps the planner from choosing the partial index.
function scanText({ lenderId, afterLoan, count, firstAttemptsOnly, mostLoans, pacedFrom }: ScanText): string {
  return `recursive target as materialized (
     select id, url, drain_to, recovered_at from webhooks.endpoint
     where lender_id = ${lenderId} and state = 'active' and url is not null and consecutive_failures < ${pacedFrom}
   ), head as (
     (select 1 as place, d.loan, d.ctid as version
      from webhooks.delivery d
      where d.lender_id = ${lenderId} and d.endpoint_id = (select id from target) and d.state = 'waiting'
        and d.loan > ${afterLoan}
      order by d.loan, d.sequence
      limit 1)
     union all
     select head.place + 1, next.loan, next.version
     from (select * from head where place < ${mostLoans} limit 1) head cross join lateral (
       select d.loan, d.ctid as version
       from webhooks.delivery d
       where d.lender_id = ${lenderId} and d.endpoint_id = (select id from target) and d.state = 'waiting'
         and d.loan > head.loan
       order by d.loan, d.sequence
       limit 1
     ) next
   ), free as materialized (
     select locked.*
     from head cross join lateral (
       select d.id, d.loan, d.ctid
       from webhooks.delivery d
       where d.lender_id = ${lenderId} and d.ctid = head.version
         and d.state not in ('retrying', 'delivered', 'parked')
         and (d.leased_until is null or d.leased_until < now())
         and not (${firstAttemptsOnly} and (d.attempts > 0 or d.replay))
         and ((select drain_to from target) is null or not exists (
           select from webhooks.delivery earlier
           where earlier.lender_id = ${lenderId} and earlier.endpoint_id = d.endpoint_id and earlier.state = 'retrying'
             and earlier.loan = d.loan and earlier.sequence < d.sequence
             and earlier.id <= (select drain_to from target) and not earlier.replay))
         and ((d.attempts = 0 and not d.replay) or not exists (
           select from webhooks.delivery later
           where later.lender_id = ${lenderId} and later.endpoint_id = d.endpoint_id and later.state = 'waiting'
             and later.loan = d.loan and later.sequence > d.sequence and later.leased_until >= now()))
       for update of d skip locked
     ) locked
     limit ${count}
   )`;
}

const OF_ONE = {
  lenderId: "$1",
  afterLoan: "$4",
  count: "$5",
  firstAttemptsOnly: "$6",
  mostLoans: "$7",
  pacedFrom: "$8",
};
const OF_EACH = {
  lenderId: "look.lender_id",
  afterLoan: "look.after_loan",
  count: "look.count",
  firstAttemptsOnly: "look.first_attempts_only",
  mostLoans: "$7",
  pacedFrom: "$8",
};

/** The columns that occur in constraints of webhooks.delivery, apart from lender_id. An INSERT needs all of them. */
const STORED = deliveryTable.columnList(["id", "endpointId", "loan", "sequence", "kind", "state"]);
const LEASED_COLUMNS = deliveryTable.columnList(["id", ...LEASED]);
const ANSWER = `l.id as "deliveryId", ${deliveryTable.selectList("l", LEASED)}, e.body`;

// The UPDATE finds each locked delivery by its ctid, with any plan. A delivery that another transaction changed between
// the query's start and the lock has a new ctid. This query leaves it out, and the next scan leases it. The WITH
// contains no INSERT, because Citus would not send such a SELECT to a single node. The LIMIT on the event makes the
// planner probe only the partition of the event.
export const leaseHeads = statement(
  "webhooks.lease",
  `with ${scanText(OF_ONE)}, leased as (
     update webhooks.delivery d set claim_id = $2, leased_until = now() + $3 * interval '1 millisecond'
     from (select ctid as version from free) locked
     where d.lender_id = $1 and d.ctid = locked.version
     returning ${LEASED_COLUMNS}
   )
   select ${ANSWER}, target.url, target.recovered_at as "recoveredAt", seen.stopped_at as "stoppedAt"
   from target
   cross join (
     select case when (select count(*) from free) < $5 then (select loan from head where place = $7)
       else (select max(loan) from free) end as stopped_at
   ) seen
   left join leased l on true
   left join lateral (select body from webhooks.event where lender_id = $1 and id = l.id limit 1) e on true
   order by l.loan`,
);

// Updates the locked deliveries by an INSERT with ON CONFLICT, which finds each of them by the primary key, with any
// plan. Nothing is inserted, because every delivery exists.
export const leaseHeadsOfMany = statement(
  "webhooks.lease-of-many",
  `with look as materialized (
     select * from unnest($1::uuid[], $4::text[], $5::integer[], $6::boolean[])
       with ordinality as l (lender_id, after_loan, count, first_attempts_only, place)
   ), seen as materialized (
     select look.lender_id, look.place, look.count, found.*
     from look cross join lateral (
       with ${scanText(OF_EACH)}
       select target.url, target.recovered_at, array(select id from free) as ids,
         (select loan from head where place = $7) as last_loan
       from target
     ) found
   ), leased as (
     insert into webhooks.delivery (lender_id, ${STORED}, claim_id, leased_until)
     select seen.lender_id, ${STORED}, $2, now() + $3 * interval '1 millisecond'
     from seen cross join unnest(seen.ids) as k (leased_id) cross join lateral (
       select ${STORED} from webhooks.delivery p
       where p.lender_id = seen.lender_id and p.id >= k.leased_id and p.id <= k.leased_id
       order by p.id limit 1
     ) stored
     on conflict (lender_id, id) do update set claim_id = excluded.claim_id, leased_until = excluded.leased_until
     returning lender_id, ${LEASED_COLUMNS}
   )
   select ${ANSWER}, seen.place, seen.url, seen.recovered_at as "recoveredAt",
     case when (select count(*) from leased c where c.lender_id = seen.lender_id) < seen.count then seen.last_loan
       else (select max(c.loan) from leased c where c.lender_id = seen.lender_id) end as "stoppedAt"
   from seen
   left join leased l on l.lender_id = seen.lender_id
   left join lateral (select body from webhooks.event where lender_id = seen.lender_id and id = l.id limit 1) e on true
   order by l.loan`,
);

interface Turn {
  readonly waitMs: number;
}

const TURN = `select greatest(0, coalesce(ceil(extract(epoch from paced_until - now()) * 1000), 0))::integer as "waitMs"
   from webhooks.endpoint where lender_id = $1 and state = 'active' and url is not null`;

const readTurn = statement("webhooks.read-turn", TURN);

const lockTurn = statement("webhooks.lock-turn", `${TURN} for update`);

const holdTurn = statement(
  "webhooks.hold-turn",
  `update webhooks.endpoint set paced_until = now() + $2 * interval '1 millisecond' where lender_id = $1`,
);

export const releaseLeases = statement(
  "webhooks.release-leases",
  `update webhooks.delivery d set claim_id = null, leased_until = null
   from unnest($2::uuid[], $3::uuid[]) as held (id, claim_id)
   where d.lender_id = $1 and d.id = any ($2) and d.id = held.id and d.claim_id = held.claim_id`,
);

// The lateral query with ORDER BY and LIMIT takes one index probe per endpoint. PostgreSQL could run an EXISTS in its
// place as a join that reads the whole backlog.
export const selectBacklogs = allLendersStatement(
  "webhooks.lenders-with-backlog",
  { ofSome: "e.lender_id = any ($1::uuid[])" },
  (areTheLenders) => `select e.lender_id as "lenderId"
   from webhooks.endpoint e cross join lateral (
     select from webhooks.delivery d
     where d.lender_id = e.lender_id and d.endpoint_id = e.id and d.state = 'waiting'
       and (d.leased_until is null or d.leased_until < now())
     order by d.loan, d.sequence
     limit 1
   ) due
   where ${areTheLenders} and e.state = 'active' and e.url is not null`,
);
