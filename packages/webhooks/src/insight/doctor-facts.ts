import { query, statement, type Tx } from "@collections/database";
import { oldestUndelivered, type UndeliveredEvent } from "./backlog.ts";
import { type Endpoint, endpointTable } from "../endpoint/endpoint.ts";
import type { Recipient } from "../endpoint/recipient.ts";
import { idBefore } from "../storage/id-time.ts";
import { eventsKeptFrom } from "./event-pages.ts";
import { type DeliveryTotals, deliveryTotals, sequenceProblems, type SequenceProblem } from "./verification.ts";

/** Work that is overdue by more than this is a fault. Workers normally do it much earlier. */
export const GRACE_MS = 300_000;
/** How far back failures of our own DNS and network are read. */
const OWN_FAULTS_MS = 900_000;

const ENDPOINT = ["lenderId", "url", "state", "suspendedAt", "nextProbeAt", "probeError", "updatedAt"] as const;

export interface EndpointRow extends Readonly<Pick<Endpoint, (typeof ENDPOINT)[number]>> {
  readonly endpointId: string;
}

/** The number of rows that were found, and the event of the first row. */
export interface Found {
  readonly count: number;
  readonly eventId: string | null;
}

export interface EndpointFacts extends EndpointRow {
  readonly recipient: Recipient;
  readonly totals: DeliveryTotals;
  readonly oldestUndelivered: UndeliveredEvent | undefined;
  /** Deliveries with a lease that has not ended. */
  readonly inFlight: number;
  /** First attempts that have been due for a long time, and that no process has leased. */
  readonly unleased: Found;
  /** Due deliveries with a lease that ended long ago. */
  readonly stuck: Found;
  readonly overdueRetries: Found;
  readonly eventsWithoutDelivery: Found;
  readonly deliveriesWithoutEvent: Found;
  readonly sequenceProblems: readonly SequenceProblem[];
  /** Attempts of the last 15 minutes that our own DNS or network has failed. */
  readonly ownFaults: OwnFaults;
  /** Running replays whose next step is long overdue. */
  readonly stalledReplays: readonly StalledReplay[];
}

/** The first and the last failure, and the newest attempt of any outcome: its error, or null if it was delivered. */
export interface OwnFaults {
  readonly count: number;
  readonly since: Date | null;
  readonly until: Date | null;
  readonly newest: string | null;
}

export interface StalledReplay {
  readonly replayId: string;
  readonly nextStepAt: Date;
  readonly total: number;
  readonly done: number;
}

/** How to read the facts of an endpoint. `now` is the time of the database. */
export interface FactsReading {
  readonly now: Date;
  readonly timeoutMs: number;
}

/** Reads the facts of an endpoint in a transaction that sees one consistent state. */
export async function factsOfEndpoint(
  tx: Tx,
  endpoint: EndpointRow,
  recipient: Recipient,
  { now, timeoutMs }: FactsReading,
): Promise<EndpointFacts> {
  const { lenderId, endpointId } = endpoint;
  const longRead = { timeoutMs };
  const ofEndpoint = [lenderId, endpointId, GRACE_MS];
  const keptFrom = await eventsKeptFrom(tx);
  const [leases] = await query<{ inFlight: number }>(tx, countLeases, [lenderId, endpointId], longRead);
  const [unleased] = await query<Found>(tx, findUnleased, ofEndpoint, longRead);
  const [stuck] = await query<Found>(tx, findStuck, ofEndpoint, longRead);
  const [overdueRetries] = await query<Found>(tx, findOverdueRetries, ofEndpoint, longRead);
  const [eventsWithoutDelivery] = await query<Found>(tx, findEventsWithoutDelivery, [lenderId, keptFrom], longRead);
  const newAttempts = idBefore(new Date(now.getTime() - OWN_FAULTS_MS));
  const [ownFaults] = await query<OwnFaults>(tx, findOwnFaults, [lenderId, newAttempts, OWN_FAULTS_MS], longRead);
  const [deliveriesWithoutEvent] = await query<Found>(tx, findDeliveriesWithoutEvent, [lenderId], longRead);
  return {
    ...endpoint,
    recipient,
    totals: await deliveryTotals(tx, lenderId, longRead),
    oldestUndelivered: await oldestUndelivered(tx, lenderId),
    inFlight: leases!.inFlight,
    unleased: unleased!,
    stuck: stuck!,
    overdueRetries: overdueRetries!,
    eventsWithoutDelivery: eventsWithoutDelivery!,
    deliveriesWithoutEvent: deliveriesWithoutEvent!,
    ownFaults: ownFaults!,
    sequenceProblems: await sequenceProblems(tx, lenderId, longRead),
    stalledReplays: await query<StalledReplay>(tx, findStalledReplays, ofEndpoint),
  };
}

export const selectEndpoints = statement(
  "webhooks.doctor-endpoints",
  `select e.id as "endpointId", ${endpointTable.selectList("e", ENDPOINT)}
   from webhooks.endpoint e
   where $1::uuid[] is null or e.lender_id = any ($1)
   order by e.lender_id`,
);

const COUNT_AND_FIRST = `count(*)::int as count, min(d.id::text)::uuid as "eventId"`;

const LONG_AGO = `now() - $3 * interval '1 millisecond'`;

// True if no earlier event of the loan is waiting or waits for its retry. If one does, the delivery may have to wait for
// that event.
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

// Retention deletes a delivery before its event. So only events that retention keeps must have a delivery, unless their tenant had
// no endpoint.
export const findEventsWithoutDelivery = statement(
  "webhooks.doctor-events-alone",
  `select ${COUNT_AND_FIRST} from webhooks.event d
   where d.lender_id = $1 and d.id >= $2
     and not exists (select from webhooks.delivery x where x.lender_id = $1 and x.id = d.id)
     and not exists (select from webhooks.event_without_endpoint w where w.lender_id = $1 and w.id = d.id)`,
);

export const findDeliveriesWithoutEvent = statement(
  "webhooks.doctor-deliveries-alone",
  `select ${COUNT_AND_FIRST} from webhooks.delivery d
   where d.lender_id = $1 and not exists (select from webhooks.event x where x.lender_id = $1 and x.id = d.id)`,
);

// The sentences of `describeFailure` begin with these words if our own side has failed.
const findOwnFaults = statement(
  "webhooks.doctor-own-faults",
  `select count(*)::int as count, min(a.started_at) as since, max(a.started_at) as until,
     (select n.error_detail from webhooks.attempt n where n.lender_id = $1 and n.id >= $2 order by n.id desc limit 1) as newest
   from webhooks.attempt a
   where a.lender_id = $1 and a.id >= $2 and a.started_at > now() - $3 * interval '1 millisecond'
     and a.error_detail like 'Our own %'`,
);

// A replay whose earlier deliveries still wait is not stalled: it waits for its endpoint.
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
