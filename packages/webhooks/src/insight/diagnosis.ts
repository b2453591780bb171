import { publicId } from "@collections/database";
import { type EndpointFacts, type Found, GRACE_MS, type OwnFaults } from "./doctor-facts.ts";
import type { PartitionState } from "../storage/partitions.ts";
import type { SequenceProblem } from "./verification.ts";

/** The kinds of problems. Operators' scripts match on these codes. */
export type WebhookProblemCode =
  | "SEQUENCE_GAP"
  | "SEQUENCE_DUPLICATE"
  | "EVENT_WITHOUT_DELIVERY"
  | "DELIVERY_WITHOUT_EVENT"
  | "TOTALS_MISMATCH"
  | "NOT_PICKED_UP"
  | "STUCK_LEASE"
  | "RETRY_OVERDUE"
  | "PROBE_OVERDUE"
  | "REPLAY_STALLED"
  | "PARTITIONS_NOT_MADE"
  | "OWN_NETWORK_FAILS"
  | "SUSPENDED"
  | "NO_CALLBACK"
  | "OLD_EVENT";

/**
 * A problem of a tenant's webhooks. A `fault` is on our side. A `warning` is on the tenant's side, and this package
 * handles it.
 */
export interface WebhookProblem {
  readonly severity: "fault" | "warning";
  readonly code: WebhookProblemCode;
  /** Null for a problem that belongs to no tenant. */
  readonly tenantId: string | null;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId: string | null;
  /** The name of the endpoint. Absent for the unnamed endpoint, and for a problem that belongs to no tenant. */
  readonly endpoint?: string;
  readonly count: number;
  /** The first event concerned, as a UUID. */
  readonly eventId: string | null;
  /** The time since which the problem exists. Null if it is unknown. */
  readonly since: Date | null;
  /** A sentence for operators. */
  readonly detail: string;
}

/** An event that has waited this long causes a warning, whatever it waits for. */
const OLD_EVENT_MS = 900_000;
/**
 * If the partitions end earlier than this time from now, that is a fault. The routine creates them four weeks ahead,
 * and a migration creates them at least one week ahead.
 */
const PARTITIONS_AHEAD_MS = 6 * 86_400_000;
/** Our own DNS or network has to fail for this time to be a fault. */
const OWN_FAULT_MS = 60_000;

/** Lists the problems of an endpoint, faults first. `streamNoun` is the host's word for a stream. */
export function diagnoseEndpoint(facts: EndpointFacts, now: Date, streamNoun: string): WebhookProblem[] {
  const found = [
    ...faultsInRows(facts, streamNoun),
    ...faultsOfWorkers(facts, now),
    ...faultsOfNetwork(facts.ownFaults),
    ...warnings(facts, now, streamNoun),
  ];
  return found.map((problem) => ({ ...problem, ...facts.recipient }));
}

/** Lists the partitioned tables that lack partitions for the coming days. */
export function diagnosePartitions(states: readonly PartitionState[], now: Date): WebhookProblem[] {
  return states
    .filter(({ madeTo }) => madeTo.getTime() < now.getTime() + PARTITIONS_AHEAD_MS)
    .map(({ relation, madeTo, unplaced }) =>
      problem("fault", "PARTITIONS_NOT_MADE", {
        count: unplaced,
        detail: `webhooks.${relation} has partitions only up to ${iso(madeTo)}; ${unplaced} rows are after that time.`,
      }),
    );
}

function faultsInRows(facts: EndpointFacts, streamNoun: string): WebhookProblem[] {
  const { totals, sequenceProblems: sequence, eventsWithoutDelivery, deliveriesWithoutEvent } = facts;
  const { published, delivered, waiting, retrying, parked } = totals;
  const tracked = delivered + waiting + retrying + parked;
  return [
    ...sequenceFaults(
      "SEQUENCE_GAP",
      sequence.filter(({ fault }) => fault === "gap"),
      streamNoun,
    ),
    ...sequenceFaults(
      "SEQUENCE_DUPLICATE",
      sequence.filter(({ fault }) => fault === "duplicate"),
      streamNoun,
    ),
    ...faultOf("EVENT_WITHOUT_DELIVERY", eventsWithoutDelivery, "Events have no delivery, so they are not sent"),
    ...faultOf(
      "DELIVERY_WITHOUT_EVENT",
      deliveriesWithoutEvent,
      "Deliveries have no event, so there is no body to send",
    ),
    ...(published === tracked
      ? []
      : [
          problem("fault", "TOTALS_MISMATCH", {
            count: Math.abs(published - tracked),
            detail: `${published} events are published, but ${delivered} delivered, ${waiting} waiting, ${retrying} retrying and ${parked} parked add up to ${tracked}.`,
          }),
        ]),
  ];
}

function sequenceFaults(
  code: "SEQUENCE_GAP" | "SEQUENCE_DUPLICATE",
  found: readonly SequenceProblem[],
  streamNoun: string,
): WebhookProblem[] {
  const [first] = found;
  if (!first) return [];
  const streams = new Set(found.map(({ stream }) => stream)).size;
  const what = code === "SEQUENCE_GAP" ? "Sequence numbers are missing" : "Sequence numbers are repeated";
  const detail = `${what}: ${found.length}, in ${streamNoun}s: ${streams}. The first is in ${streamNoun} ${first.stream}: after ${first.after} comes ${first.found}.`;
  return [problem("fault", code, { count: found.length, eventId: first.eventId, detail })];
}

function faultsOfWorkers(facts: EndpointFacts, now: Date): WebhookProblem[] {
  const { state, url, updatedAt, inFlight, unleased, stuck, nextProbeAt } = facts;
  const longAgo = new Date(now.getTime() - GRACE_MS);
  const isOpen = state === "active" && url !== null && updatedAt < longAgo;
  const isProbeOverdue = state === "suspended" && url !== null && (nextProbeAt === null || nextProbeAt < longAgo);
  return [
    ...(isOpen && inFlight === 0
      ? faultOf("NOT_PICKED_UP", unleased, "First attempts are due, and no worker makes them")
      : []),
    ...(isOpen ? faultOf("STUCK_LEASE", stuck, "Leases ended long ago, and no worker has taken them over") : []),
    ...faultOf("RETRY_OVERDUE", facts.overdueRetries, "Retries are overdue, and no worker makes them"),
    ...(isProbeOverdue
      ? [
          problem("fault", "PROBE_OVERDUE", {
            since: nextProbeAt,
            detail: nextProbeAt
              ? `The probe that was due at ${iso(nextProbeAt)} was not made.`
              : "The endpoint is suspended, and no probe is scheduled.",
          }),
        ]
      : []),
    ...facts.stalledReplays.map(({ replayId, nextStepAt, done, total }) =>
      problem("fault", "REPLAY_STALLED", {
        count: total - done,
        since: nextStepAt,
        detail: `The replay ${publicId("replay", replayId)} has stalled at ${done} of ${total} events since ${iso(nextStepAt)}.`,
      }),
    ),
  ];
}

/** Returns a fault if all attempts since the first failure may have failed on our own side, for a minute at least. */
function faultsOfNetwork({ count, since, until, newest }: OwnFaults): WebhookProblem[] {
  if (since === null || until === null || until.getTime() - since.getTime() < OWN_FAULT_MS) return [];
  if (newest === null || !newest.startsWith("Our own ")) return [];
  const detail = `Attempts have failed on our own side since ${iso(since)}: ${count}. The last failure: ${newest}`;
  return [problem("fault", "OWN_NETWORK_FAILS", { count, since, detail: endSentence(detail) })];
}

/** Returns at most one warning. If events wait for several reasons, the first reason explains the others. */
function warnings(facts: EndpointFacts, now: Date, streamNoun: string): WebhookProblem[] {
  const { state, url, suspendedAt, nextProbeAt, probeError, totals, oldestUndelivered: oldest } = facts;
  const count = totals.waiting + totals.retrying;
  const about = { count, eventId: oldest?.eventId ?? null };
  if (state === "suspended" && url !== null) {
    const probe = [nextProbeAt && `next probe ${iso(nextProbeAt)}`, probeError && `last probe: ${probeError}`];
    const detail = `Suspended since ${suspendedAt ? iso(suspendedAt) : "an unknown time"}, ${count} events wait; ${probe.filter(Boolean).join(", ")}`;
    return [problem("warning", "SUSPENDED", { ...about, since: suspendedAt, detail: endSentence(detail) })];
  }
  if (!oldest) return [];
  const since = oldest.createdAt;
  const oldestIs = `the oldest is ${publicId("evt", oldest.eventId)} of ${streamNoun} ${oldest.stream}, created ${iso(since)}`;
  if (url === null) {
    const detail = `No callback is registered, ${count} events wait; ${oldestIs}.`;
    return [problem("warning", "NO_CALLBACK", { ...about, since, detail })];
  }
  if (now.getTime() - since.getTime() < OLD_EVENT_MS) return [];
  const detail = `${totals.waiting} events wait, and ${totals.retrying} wait for a retry; ${oldestIs}.`;
  return [problem("warning", "OLD_EVENT", { ...about, since, detail })];
}

function faultOf(code: WebhookProblemCode, { count, eventId }: Found, what: string): WebhookProblem[] {
  if (count === 0 || eventId === null) return [];
  const detail = `${what}: ${count}, the first is ${publicId("evt", eventId)}.`;
  return [problem("fault", code, { count, eventId, detail })];
}

function problem(
  severity: WebhookProblem["severity"],
  code: WebhookProblemCode,
  facts: Partial<WebhookProblem> & Pick<WebhookProblem, "detail">,
): WebhookProblem {
  return { severity, code, tenantId: null, lenderId: null, count: 1, eventId: null, since: null, ...facts };
}

function iso(at: Date): string {
  return at.toISOString();
}

function endSentence(sentence: string): string {
  return sentence.replace(/[;.\s]*$/, ".");
}
