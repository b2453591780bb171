import type { Database } from "@collections/database";
import type { Outbound } from "@collections/outbound";
import { type Courier, DEFAULT_TIMEOUT_MS } from "../endpoint/attempt.ts";
import { WEBHOOKS_CHANNEL } from "../endpoint/endpoint.ts";
import { DEFAULT_LADDER, type Ladder, parseLadder } from "./ladder.ts";
import { type AttemptFacts, Lane, type Log } from "./lane.ts";
import { lendersWithBacklog } from "./lease.ts";
import { createQuietLanes } from "./quiet-lanes.ts";
import { createSlots } from "./slots.ts";
import { DEFAULT_SUSPENSION, type SuspensionRule } from "../endpoint/suspension.ts";

/** So many that receivers which all begin to hang at once, 32 attempts each, leave room for the others. */
const DEFAULT_MAX_IN_FLIGHT = 512;
const DEFAULT_MAX_PER_ENDPOINT = 32;
const DEFAULT_POLL_INTERVAL_MS = 1_000;
/** On a cluster each look asks every shard. New events and retries come by signals, so only lost ones wait for it. */
const CLUSTER_POLL_INTERVAL_MS = 5_000;
/** After the grace, for giving back what was given up. Should the database be away too, the leases run out. */
const LAST_WRITES_MS = 2_000;

/**
 * What a dispatcher needs: a database, the way out and the key that signs each lender's events. The rest has defaults.
 *
 * @example
 * const options: DispatcherOptions = {
 *   database, outbound, signingKeyOf,
 *   ladder: parseLadder("0s,10s,1m"),
 *   suspension: { suspendAfter: 50, probeIntervalMs: 60_000 },
 *   onAttempt: ({ state, durationMs }) => console.log(state, durationMs),
 * };
 */
export interface DispatcherOptions {
  readonly database: Database;
  readonly outbound: Outbound;
  readonly signingKeyOf: Courier["signingKeyOf"];
  /** Default: the contract's. contract: Retry and suspension */
  readonly ladder?: Ladder;
  /** Default: the contract's. contract: Retry and suspension */
  readonly suspension?: SuspensionRule;
  /** For a whole exchange with a callback. Default 10 seconds. */
  readonly timeoutMs?: number;
  /** Attempts under way in this process at a time. Default 512. */
  readonly maxInFlight?: number;
  /** Attempts under way to one endpoint at a time: all that a hanging receiver can hold. Default 32. */
  readonly maxPerEndpoint?: number;
  /** How often the rows are looked at without a signal. Default 1 second, and 5 seconds with `oneLenderABatch`. */
  readonly pollIntervalMs?: number;
  /** Statements for several lenders never share a transaction: for a database that has their rows on several nodes. Default: they may. */
  readonly oneLenderABatch?: boolean;
  readonly now?: () => Date;
  /** In [0, 1), for the ladder's jitter. */
  readonly random?: () => number;
  readonly log?: Log;
  /** Told of every attempt whose result is written. */
  readonly onAttempt?: (facts: AttemptFacts) => void;
}

/** The half of one process that delivers. */
export interface Dispatcher {
  /** Begins to deliver, on signals and by polling. */
  start(): void;
  /** Attempts under way in this process, by lender. */
  inFlight(): ReadonlyMap<string, number>;
  /** Takes nothing new and waits for what is in flight and its results; gives up on what is left after `graceMs`. */
  stop(options: { graceMs: number }): Promise<void>;
}

/**
 * Delivers what is due, each lender's events in a lane of their own. Any number of processes may run one against the
 * same database: leases keep them apart. contract: Delivery
 *
 * @example
 * const dispatcher = createDispatcher({ database, outbound, signingKeyOf });
 * dispatcher.start();
 * process.once("SIGTERM", () => void dispatcher.stop({ graceMs: 10_000 }));
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { database, log = silent, oneLenderABatch = false } = options;
  const { pollIntervalMs = oneLenderABatch ? CLUSTER_POLL_INTERVAL_MS : DEFAULT_POLL_INTERVAL_MS } = options;
  const lanes = new Map<string, Lane>();
  const giveUp = new AbortController();
  const newLane = laneMaker(options, log, giveUp.signal);
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
    polling ??= wakeWhatIsDue().finally(() => {
      polling = undefined;
    });
  }

  async function wakeWhatIsDue(): Promise<void> {
    try {
      for (const lenderId of await lendersWithBacklog(database.em())) wake(lenderId);
    } catch (error) {
      log.error({ error }, "webhook backlog not read");
    }
  }

  return {
    start() {
      stopListening = database.signals.on(WEBHOOKS_CHANNEL, wake);
      database.signals.listen();
      timer = setInterval(poll, pollIntervalMs);
      poll();
    },
    inFlight: () => new Map([...lanes].map(([lenderId, lane]) => [lenderId, lane.inFlight])),
    async stop({ graceMs }) {
      isStopped = true;
      stopListening();
      clearInterval(timer);
      const stopped = Promise.all([polling, ...[...lanes.values()].map((lane) => lane.stop())]);
      const { promise: tooLate, resolve: leave } = Promise.withResolvers<void>();
      const timers = [setTimeout(() => giveUp.abort(), graceMs), setTimeout(leave, graceMs + LAST_WRITES_MS)];
      await Promise.race([stopped, tooLate]);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function laneMaker(options: DispatcherOptions, log: Log, giveUp: AbortSignal): (lenderId: string) => Lane {
  const { database, outbound, signingKeyOf, timeoutMs = DEFAULT_TIMEOUT_MS, now = () => new Date() } = options;
  // Statements only: it keeps no entities, and a new one for each batch costs as much as a small batch.
  const em = database.em();
  const suspension = options.suspension ?? DEFAULT_SUSPENSION;
  const shared = {
    em,
    quietLanes: createQuietLanes(em, { suspension, oneLenderABatch: options.oneLenderABatch ?? false }),
    courier: { outbound, signingKeyOf, timeoutMs, now },
    slots: createSlots(options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT),
    ladder: options.ladder ?? parseLadder(DEFAULT_LADDER),
    suspension,
    random: options.random ?? Math.random,
    maxInFlight: options.maxPerEndpoint ?? DEFAULT_MAX_PER_ENDPOINT,
    log,
    onAttempt: options.onAttempt ?? (() => {}),
    giveUp,
  };
  return (lenderId) => new Lane({ ...shared, lenderId });
}

const silent: Log = { debug() {}, warn() {}, error() {} };
