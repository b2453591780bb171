import { query, statement, type Tx } from "@collections/database";
import { oldestUndelivered, type UndeliveredEvent } from "./backlog.ts";
import type { EndpointState } from "../endpoint/endpoint.ts";
import { eventsKeptFrom } from "./event-pages.ts";
import { type DeliveryTotals, deliveryTotals, sequenceProblems, type SequenceProblem } from "./verification.ts";

/** What workers do by themselves is done long before: what is not done by then is not done at all. */
export const GRACE_MS = 300_000;

export interface EndpointRow {
  readonly lenderId: string;
  readonly endpointId: string;
  readonly url: string | null;
  readonly state: EndpointState;
  readonly suspendedAt: Date | null;
  readonly nextProbeAt: Date | null;
  readonly probeError: string | null;
  /** When it was last registered, suspended, probed or recovered. */
  readonly updatedAt: Date;
}

/** How many rows are of a kind, and the first of them. */
export interface Found {
  readonly count: number;
  readonly eventId: string | null;
}

export interface EndpointFacts extends EndpointRow {
  readonly totals: DeliveryTotals;
  readonly oldestUndelivered: UndeliveredEvent | undefined;
  /** Deliveries with a live lease. */
  readonly inFlight: number;
  /** First attempts that nothing holds back and nobody has leased. */
  readonly unleased: Found;
  /** Deliveries that nothing holds back, with a lease that ended long ago. */
  readonly stuck: Found;
  readonly overdueRetries: Found;
  readonly eventsWithoutDelivery: Found;
  readonly deliveriesWithoutEvent: Found;
  readonly sequenceProblems: readonly SequenceProblem[];
  /** Running ones whose next step is long overdue. */
  readonly stalledReplays: readonly StalledReplay[];
}

export interface StalledReplay {
  readonly replayId: string;
  readonly nextStepAt: Date;
  readonly total: number;
  readonly done: number;
}

/** Reads in the transaction of a snapshot what there is to know of an endpoint. */
export async function factsOfEndpoint(tx: Tx, endpoint: EndpointRow, timeoutMs: number): Promise<EndpointFacts> {
  const { lenderId, endpointId } = endpoint;
  const patient = { timeoutMs };
  const ofEndpoint = [lenderId, endpointId, GRACE_MS];
  const keptFrom = await eventsKeptFrom(tx);
  const [leases] = await query<{ inFlight: number }>(tx, countLeases, [lenderId, endpointId], patient);
  const [unleased] = await query<Found>(tx, findUnleased, ofEndpoint, patient);
  const [stuck] = await query<Found>(tx, findStuck, ofEndpoint, patient);
  const [overdueRetries] = await query<Found>(tx, findOverdueRetries, ofEndpoint, patient);
  const [eventsWithoutDelivery] = await query<Found>(tx, findEventsWithoutDelivery, [lenderId, keptFrom], patient);
  const [deliveriesWithoutEvent] = await query<Found>(tx, findDeliveriesWithoutEvent, [lenderId], patient);
  return {
    ...endpoint,
    totals: await deliveryTotals(tx, lenderId, patient),
    oldestUndelivered: await oldestUndelivered(tx, lenderId),
    inFlight: leases!.inFlight,
    unleased: unleased!,
    stuck: stuck!,
    overdueRetries: overdueRetries!,
    eventsWithoutDelivery: eventsWithoutDelivery!,
    deliveriesWithoutEvent: deliveriesWithoutEvent!,
    sequenceProblems: await sequenceProblems(tx, lenderId, patient),
    stalledReplays: await query<StalledReplay>(tx, findStalledReplays, ofEndpoint),
  };
}

export const selectEndpoints = statement(
  "webhooks.doctor-endpoints",
  `select lender_id as "lenderId", id as "endpointId", url, state, suspended_at as "suspendedAt",
     next_probe_at as "nextProbeAt", probe_error as "probeError", updated_at as "updatedAt"
   from webhooks.endpoint
   where $1::uuid is null or lender_id = $1
   order by lender_id`,
);

const COUNT_AND_FIRST = `count(*)::int as count, min(d.id::text)::uuid as "eventId"`;

const LONG_AGO = `now() - $3 * interval '1 millisecond'`;

// The head of a loan, unless it waits for an earlier event between two attempts: a drain is strict.
const IS_NEXT = `not exists (
     select from webhooks.delivery earlier
     where earlier.lender_id = $1 and earlier.endpoint_id = d.endpoint_id and earlier.state = 'waiting'
       and earlier.loan = d.loan and earlier.sequence < d.sequence)
   and not exists (
     select from webhooks.delivery earlier
     where earlier.lender_id = $1 and earlier.endpoint_id = d.endpoint_id and earlier.state = 'retrying'
       and earlier.loan = d.loan and earlier.sequence < d.sequence)`;

const countLeases = statement(
  "webhooks.doctor-leases",
  `select count(*)::int as "inFlight" from webhooks.delivery d
   where d.lender_id = $1 and d.endpoint_id = $2 and d.state = 'waiting' and d.leased_until >= now()`,
);

export const findUnleased = statement(
  "webhooks.doctor-unleased",
  `select ${COUNT_AND_FIRST} from webhooks.delivery d
   where d.lender_id = $1 and d.endpoint_id = $2 and d.state = 'waiting' and d.leased_until is null
     and d.attempts = 0 and not d.replay and d.created_at < ${LONG_AGO} and ${IS_NEXT}`,
);

export const findStuck = statement(
  "webhooks.doctor-stuck",
  `select ${COUNT_AND_FIRST} from webhooks.delivery d
   where d.lender_id = $1 and d.endpoint_id = $2 and d.state = 'waiting' and d.leased_until < ${LONG_AGO} and ${IS_NEXT}`,
);

export const findOverdueRetries = statement(
  "webhooks.doctor-overdue-retries",
  `select ${COUNT_AND_FIRST} from webhooks.delivery d
   where d.lender_id = $1 and d.endpoint_id = $2 and d.state = 'retrying' and (d.next_attempt_at is null or d.next_attempt_at < ${LONG_AGO})`,
);

// Retention lets a delivery go before its event: only events that it has not come to must have one.
export const findEventsWithoutDelivery = statement(
  "webhooks.doctor-events-alone",
  `select ${COUNT_AND_FIRST} from webhooks.event d
   where d.lender_id = $1 and d.id >= $2
     and not exists (select from webhooks.delivery x where x.lender_id = $1 and x.id = d.id)`,
);

export const findDeliveriesWithoutEvent = statement(
  "webhooks.doctor-deliveries-alone",
  `select ${COUNT_AND_FIRST} from webhooks.delivery d
   where d.lender_id = $1 and not exists (select from webhooks.event x where x.lender_id = $1 and x.id = d.id)`,
);

// One whose endpoint has not taken all of what was replayed does not stand still: it waits.
const findStalledReplays = statement(
  "webhooks.doctor-stalled-replays",
  `select r.id as "replayId", r.next_step_at as "nextStepAt", r.total, r.done
   from webhooks.replay r
   where r.lender_id = $1 and r.state = 'running' and r.next_step_at < ${LONG_AGO}
     and not exists (
       select from webhooks.delivery d
       where d.lender_id = $1 and d.endpoint_id = $2 and d.state = 'waiting' and d.replay)
   order by r.next_step_at`,
);
