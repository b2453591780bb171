import type { Database } from "@collections/database";
import type { Outbound } from "@collections/outbound";
import { DEFAULT_TIMEOUT_MS, type WebhookBrand, type WebhookSender } from "../endpoint/attempt.ts";
import { WEBHOOKS_CHANNEL } from "../endpoint/endpoint.ts";
import { knownRecipient } from "../endpoint/recipient.ts";
import { DEFAULT_SUSPENSION, type SuspensionRule } from "../endpoint/suspension.ts";
import type { AttemptFacts } from "./attempt-facts.ts";
import { DEFAULT_LADDER, type Ladder, parseLadder } from "./ladder.ts";
import { Lane } from "./lane.ts";
import { lendersWithBacklog } from "./lease.ts";
import { errorLog, type Log } from "./log.ts";
import { createQuietLanes } from "./quiet-lanes.ts";
import { createSlots } from "./slots.ts";

/** With 32 attempts per endpoint, several endpoints that hang at the same time still leave slots for the others. */
const DEFAULT_MAX_IN_FLIGHT = 512;
const DEFAULT_MAX_PER_ENDPOINT = 32;
const DEFAULT_BLOCKED_ATTEMPTS = 2;
const DEFAULT_POLL_INTERVAL_MS = 1_000;
/**
 * On a cluster, each poll queries every shard. Signals announce new events and retries, so only a lost signal needs a
 * poll.
 */
const CLUSTER_POLL_INTERVAL_MS = 5_000;
/**
 * How long `stop` tries to give back leases after the grace time. If the database is unavailable, the leases end by
 * themselves.
 */
const LAST_WRITES_MS = 2_000;

/** The options of a dispatcher. It needs the database, the outbound client, and the signing key of each tenant. */
export interface DispatcherOptions extends WebhookBrand {
  readonly database: Database;
  readonly outbound: Outbound;
  readonly signingKeyOf: WebhookSender["signingKeyOf"];
  /** Headers that the requests to an endpoint also have, such as the receiver's API key. Default: none. */
  readonly headersOf?: WebhookSender["headersOf"];
  /** The waits between attempts. Default: the contract's. contract: Retry and suspension */
  readonly ladder?: Ladder;
  /**
   * An event is parked after this many attempts if the last of them failed with `BLOCKED_ADDRESS`: the URL leads to an address that
   * `outbound` does not permit, which seldom changes by itself. 1 parks it at once. Default 2, so that one retry outlives a
   * mistake in the DNS.
   */
  readonly blockedAttempts?: number;
  /** When an endpoint is suspended. Default: the contract's. contract: Retry and suspension */
  readonly suspension?: SuspensionRule;
  /** The time limit of a whole exchange with a callback. Default 10 seconds. */
  readonly timeoutMs?: number;
  /**
   * A process leases a delivery for `timeoutMs` plus this time. If the process dies, another process attempts the
   * delivery after the lease has ended. A third of this time is reserved for writing the result. Default 15 seconds.
   */
  readonly leaseBeyondTimeoutMs?: number;
  /** The maximum number of attempts under way in this process. Default 512. */
  readonly maxInFlight?: number;
  /**
   * The maximum number of attempts under way to one endpoint, so that an endpoint that hangs cannot hold more slots.
   * Default 32.
   */
  readonly maxPerEndpoint?: number;
  /**
   * The interval at which the process polls for due deliveries whose signal was lost. Default 1 second, and 5 seconds
   * with `oneLenderABatch`.
   */
  readonly pollIntervalMs?: number;
  /** Whether each transaction is for one tenant only. Set it if tenants' rows are on several nodes. Default false. */
  readonly oneLenderABatch?: boolean;
  readonly now?: () => Date;
  /** Returns a number in [0, 1), for the ladder's jitter. */
  readonly random?: () => number;
  /** The log. Default: the console, for errors only. */
  readonly log?: Log;
  /** Called for every attempt whose result is written. */
  readonly onAttempt?: (facts: AttemptFacts) => void;
}

/** Delivers events in one process. */
export interface Dispatcher {
  /** Begins to deliver, on signals and by polling. */
  start(): void;
  /** Returns the number of attempts under way in this process, by tenant. */
  inFlight(): ReadonlyMap<string, number>;
  /**
   * Starts no further attempt, and waits for attempts under way and their results. Aborts the attempts left after
   * `graceMs`.
   */
  stop(options: { graceMs: number }): Promise<void>;
}

/**
 * Creates the dispatcher of this process. It delivers due events, with a separate lane for each endpoint. Any number of
 * processes may run a dispatcher on the same database, because each delivery is leased by only one of them.
 * contract: Delivery
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { database, log = errorLog } = options;
  const lanes = new Map<string, Lane>();
  const abort = new AbortController();
  const newLane = laneMaker(options, log, abort.signal);
  let stopListening = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | undefined;
  let isStopped = false;

  function wake(lenderId: string): void {
    if (isStopped) return;
    const lane = lanes.get(lenderId) ?? newLane(lenderId);
    lanes.set(lenderId, lane);
    lane.wake();
  }

  function poll(): void {
    polling ??= wakeLendersWithBacklog().finally(() => {
      polling = undefined;
    });
  }

  async function wakeLendersWithBacklog(): Promise<void> {
    try {
      for (const lenderId of await lendersWithBacklog(database.em())) wake(lenderId);
    } catch (error) {
      log.error({ error }, "webhook backlog not read");
    }
  }

  return {
    start() {
      stopListening = database.signals.on(WEBHOOKS_CHANNEL, wake, poll);
      database.signals.listen();
      timer = setInterval(poll, pollIntervalOf(options));
      poll();
    },
    inFlight: () => inFlightByTenant(lanes),
    async stop({ graceMs }) {
      isStopped = true;
      stopListening();
      clearInterval(timer);
      const stopped = Promise.all([polling, ...[...lanes.values()].map((lane) => lane.stop())]);
      const { promise: tooLate, resolve: stopWaiting } = Promise.withResolvers<void>();
      const timers = [setTimeout(() => abort.abort(), graceMs), setTimeout(stopWaiting, graceMs + LAST_WRITES_MS)];
      await Promise.race([stopped, tooLate]);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/**
 * Returns the number of attempts under way, by tenant. The tenant of each such attempt is known, because a lane reads
 * its recipient before its first attempt.
 */
function inFlightByTenant(lanes: ReadonlyMap<string, Lane>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [lenderId, { inFlight }] of lanes) {
    const tenantId = knownRecipient(lenderId)?.tenantId;
    if (tenantId !== undefined) counts.set(tenantId, (counts.get(tenantId) ?? 0) + inFlight);
  }
  return counts;
}

/** Returns the interval at which a process polls for due deliveries whose signal was lost. */
export function pollIntervalOf({ pollIntervalMs, oneLenderABatch = false }: DispatcherOptions): number {
  return pollIntervalMs ?? (oneLenderABatch ? CLUSTER_POLL_INTERVAL_MS : DEFAULT_POLL_INTERVAL_MS);
}

function laneMaker(options: DispatcherOptions, log: Log, abort: AbortSignal): (lenderId: string) => Lane {
  const { database, outbound, signingKeyOf, timeoutMs = DEFAULT_TIMEOUT_MS, now = () => new Date() } = options;
  // All queries share one EntityManager. It loads no entities, and creating one per batch would cost as much as a small
  // batch.
  const em = database.em();
  const suspension = options.suspension ?? DEFAULT_SUSPENSION;
  const shared = {
    em,
    quietLanes: createQuietLanes(em, { suspension, oneLenderABatch: options.oneLenderABatch ?? false }),
    sender: {
      outbound,
      signingKeyOf,
      headersOf: options.headersOf,
      timeoutMs,
      now,
      headerPrefix: options.headerPrefix,
      userAgent: options.userAgent,
      standardHeaders: options.standardHeaders,
    },
    leaseBeyondTimeoutMs: options.leaseBeyondTimeoutMs,
    slots: createSlots(options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT),
    ladder: options.ladder ?? parseLadder(DEFAULT_LADDER),
    blockedAttempts: options.blockedAttempts ?? DEFAULT_BLOCKED_ATTEMPTS,
    suspension,
    random: options.random ?? Math.random,
    maxInFlight: options.maxPerEndpoint ?? DEFAULT_MAX_PER_ENDPOINT,
    log,
    onAttempt: options.onAttempt ?? (() => {}),
    abort,
  };
  return (lenderId) => new Lane({ ...shared, lenderId });
}
