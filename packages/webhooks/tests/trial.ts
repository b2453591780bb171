import { createOutbound } from "@collections/outbound";
import { createDatabase, type Database, migrate, newId, query, statement, transaction } from "@collections/database";
import { ANSWER_LIMIT_MS, directUrl, testDatabase } from "@collections/testing";
import { afterAll } from "vitest";
import type { CheckedEvent } from "../src/event-input.ts";
import { createDispatcher, type Dispatcher, type DispatcherOptions } from "../src/dispatch/dispatcher.ts";
import type { Log } from "../src/dispatch/log.ts";
import { DEFAULT_SUSPENSION, type SuspensionRule } from "../src/endpoint/suspension.ts";
import {
  type AttemptFacts,
  emit,
  type EventToEmit,
  type Ping,
  type ProbeFacts,
  registerEndpoint,
  startWebhooks,
  type WebhooksOptions,
} from "../src/index.ts";
import { webhooksSchema } from "../src/schema.ts";

export const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
export const KEY_ID = "lk_trial";
const KEY = { keyId: KEY_ID, secret: SECRET };
/** A log that writes nothing, for tests that cause errors. */
export const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} };
const SLOW = { answerTimeoutMs: ANSWER_LIMIT_MS };
const POLL_INTERVAL_MS = 50;
/** The contract's rule without pacing, so that a test with many failures does not take a minute. */
export const UNPACED = { ...DEFAULT_SUSPENSION, minDurationMs: 0 };
/** A receiver of a test has this much time to answer, so that a slow machine causes no failed attempts. */
export const TIMEOUT_MS = 300_000;

/** An event with its id, its number and the text of its body. */
export interface NumberedEvent extends CheckedEvent {
  readonly eventId: string;
  readonly sequence: bigint;
  readonly body: string;
}

/** A test database with the webhooks schema, and functions that add lenders to it and start dispatchers on it. */
export interface Trial {
  readonly database: Database;
  /** The same database, as a second process opens it. */
  readonly otherDatabase: Database;
  /** The URL of the database. */
  readonly url: string;
  addLender(url: string | null): Promise<string>;
  publish(events: readonly EventToEmit[]): Promise<void>;
  /** Runs `startWebhooks`, by default without pacing, with its own connection pool, as a separate process would. */
  work(
    options: WorkerOptions,
  ): Promise<AsyncDisposable & { readonly facts: AttemptFacts[]; readonly probes: ProbeFacts[] }>;
  /**
   * Starts a dispatcher, by default without pacing. At the end of the scope it stops, and all callback URLs are removed, so later tests send no
   * old events.
   */
  dispatch(options?: Partial<DispatcherOptions>): Dispatcher & AsyncDisposable & { readonly facts: AttemptFacts[] };
}

export interface WorkerOptions extends Partial<WebhooksOptions> {
  readonly suspension: SuspensionRule;
}

/** Opens a database for the tests of a file. Call it at the top of the file. */
export async function openTrial(): Promise<Trial> {
  const { url } = await testDatabase("webhooks", async (at) => {
    await migrate({ url: at, schemas: [webhooksSchema], jobs: true });
  });
  const database = await createDatabase({
    url,
    directUrl: directUrl(url),
    schemas: [webhooksSchema],
    works: true,
    ...SLOW,
  });
  const otherDatabase = await createDatabase({ url, directUrl: directUrl(url), schemas: [webhooksSchema], ...SLOW });
  // Many calls at once wait for a client of the pool, which takes long on a slow machine.
  for (const { pool } of [database, otherDatabase]) pool.options.connectionTimeoutMillis = TIMEOUT_MS;
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  afterAll(async () => {
    await outbound.close();
    await Promise.all([database.close(), otherDatabase.close()]);
  });

  return {
    database,
    otherDatabase,
    url,
    async addLender(url) {
      const lenderId = newId();
      await transaction(database.em(), (tx) => registerEndpoint(tx, { tenantId: lenderId, url }));
      return lenderId;
    },
    async work({ suspension, ...options }) {
      const own = await createDatabase({
        url,
        directUrl: directUrl(url),
        schemas: [webhooksSchema],
        works: true,
        ...SLOW,
      });
      const facts: AttemptFacts[] = [];
      const probes: ProbeFacts[] = [];
      const webhooks = await startWebhooks({
        database: own,
        outbound,
        signingKeyOf: () => KEY,
        pingOf: pingFor,
        suspension: { minDurationMs: 0, ...suspension },
        pollIntervalMs: POLL_INTERVAL_MS,
        log: NO_LOG,
        timeoutMs: TIMEOUT_MS,
        onAttempt: (fact) => facts.push(fact),
        onProbe: (fact) => probes.push(fact),
        ...options,
      });
      return {
        facts,
        probes,
        async [Symbol.asyncDispose]() {
          await webhooks.stop(1_000);
          await query(database.em(), forgetCallbacks, []);
          await own.close();
        },
      };
    },
    async publish(events) {
      await transaction(database.em(), async (tx) => emit(tx, events, { trusted: true }));
    },
    dispatch(options = {}) {
      const facts: AttemptFacts[] = [];
      const dispatcher = createDispatcher({
        database,
        outbound,
        signingKeyOf: () => KEY,
        log: NO_LOG,
        timeoutMs: TIMEOUT_MS,
        suspension: UNPACED,
        onAttempt: (fact) => facts.push(fact),
        ...options,
      });
      dispatcher.start();
      return {
        ...dispatcher,
        facts,
        async [Symbol.asyncDispose]() {
          await dispatcher.stop({ graceMs: 0 });
          await query(database.em(), forgetCallbacks, []);
        },
      };
    },
  };
}

/** Makes the events `from` to `to` of a loan. */
export function eventsOn(lenderId: string, loan: string, from: number, to: number): NumberedEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const eventId = newId();
    const sequence = from + index;
    return {
      tenantId: lenderId,
      eventId,
      kind: "payment.collected",
      stream: loan,
      sequence: BigInt(sequence),
      occurredAt: new Date(),
      body: JSON.stringify({ eventId, loan, sequence, note: "नमस्ते ₹2,500.00" }),
    };
  });
}

function pingFor(lenderId: string): Ping {
  const eventId = newId();
  return { tenantId: lenderId, eventId, body: JSON.stringify({ eventId, loan: "ping", sequence: 0 }) };
}

/** Counts the deliveries of a lender in a state. */
export async function countIn(database: Database, lenderId: string, state: string): Promise<number> {
  const [row] = await query<{ count: number }>(database.em(), countDeliveries, [lenderId, state]);
  return row?.count ?? 0;
}

const countDeliveries = statement(
  "webhooks-trial.count",
  `select count(*)::int as count from webhooks.delivery where lender_id = $1 and state = $2`,
);

const forgetCallbacks = statement("webhooks-trial.forget-callbacks", `update webhooks.endpoint set url = null`);
