import type { Client, Pool } from "pg";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { destroyClient, newClient } from "../connection/server-client.ts";
import { forHost } from "./host-client.ts";
import { onBehalfOfAll } from "./connection-shares.ts";
import { AS_SESSION, connectSession, isPooled, SessionNeededError } from "./pooler.ts";

/**
 * Signals between processes. A signal is a hint that rows may have changed, so that the receiver reads them again. It
 * may be lost, so nothing may depend on its arrival.
 *
 * @example
 * database.signals.listen();
 * const stop = database.signals.on("invoices", (invoiceId) => cache.delete(invoiceId));
 */
export interface Signals {
  /**
   * Calls `listener` for each signal on `channel`, from this process or another one. Calls `onGap` if signals of other
   * processes may have been missed, because the connection that receives them was opened again. Call the returned
   * function to stop.
   */
  on(channel: string, listener: (payload: string) => void, onGap?: () => void): () => void;
  /** Calls the listeners of this process at once, and those of other processes with the next NOTIFY. */
  emit(channel: string, payload: string): void;
  /** Starts to receive signals of other processes, over a separate connection that is reopened when it breaks. */
  listen(): void;
  close(): Promise<void>;
}

interface Listener {
  readonly listener: (payload: string) => void;
  readonly onGap: (() => void) | undefined;
}

const PG_CHANNEL = "collections";
const RECONNECT_DELAY_MS = 1_000;
/**
 * A connection that only listens would not notice a broken network. So a query is sent over it at this interval. If the
 * query gets no answer, the connection is opened again.
 */
const HEARTBEAT_INTERVAL_MS = 10_000;
const GOODBYE_MS = 1_000;
const ANSWER_TIMEOUT_MS = 5_000;
const MAX_PAYLOAD_CHARACTERS = 1_000;
/** A signal need not survive a crash, so its commit does not wait for the disk. */
const NOTIFY = `select pg_notify('${PG_CHANNEL}', payload), set_config('synchronous_commit', 'off', true)
  from unnest($1::text[]) payload`;

/**
 * Makes signals over LISTEN/NOTIFY. A process sends one NOTIFY at a time, with all signals that have gathered since the
 * last one, so that a busy process does not wait for PostgreSQL's notification lock.
 */
export function createSignals(options: {
  pool: Pool;
  directUrl: string;
  /** Whether a session may serve other clients, which do not know our prepared statements. */
  sharesSessions: boolean;
  onError?: (error: unknown) => void;
}): Signals {
  const { pool, directUrl, sharesSessions, onError } = options;
  const prepared = sharesSessions ? {} : { name: "database.notify" };
  const origin = randomUUID().slice(0, 8);
  const listeners = new Map<string, Set<Listener>>();
  const waiting = new Set<string>();
  let notifying: Promise<void> | undefined;
  let closed = false;
  let listening: Client | undefined;
  let reconnect: NodeJS.Timeout | undefined;
  let attempts = 0;

  function callListeners(channel: string, payload: string): void {
    for (const { listener } of listeners.get(channel) ?? []) listener(payload);
  }

  async function notify(): Promise<void> {
    while (waiting.size > 0) {
      const payloads = [...waiting];
      waiting.clear();
      try {
        // One query has the signals of several owners, so it must not wait until one of them may use a connection.
        await onBehalfOfAll(() => pool.query({ ...forHost(NOTIFY, [payloads]), ...prepared }));
      } catch (error) {
        onError?.(error);
        return;
      }
    }
  }

  function receive(message: string): void {
    const [from, channel, ...payload] = message.split("|");
    if (from !== origin && channel !== undefined) callListeners(channel, payload.join("|"));
  }

  async function connect(): Promise<void> {
    attempts += 1;
    const client = newClient(directUrl, {
      application_name: "collections-signals",
      connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
      ...AS_SESSION,
    });
    listening = client;
    client.on("notification", (message) => receive(message.payload ?? ""));
    client.on("error", () => {});
    client.once("end", () => {
      listening = undefined;
      if (!closed) reconnect = setTimeout(() => void connect(), RECONNECT_DELAY_MS).unref();
    });
    try {
      await connectSession(client, "LISTEN");
      await client.query(`listen ${PG_CHANNEL}`);
    } catch (error) {
      giveUp(client, error);
      return;
    }
    if (listening !== client) return;
    const heartbeat = setInterval(() => {
      client.query("select").catch((error: unknown) => giveUp(client, error));
    }, HEARTBEAT_INTERVAL_MS).unref();
    client.once("end", () => clearInterval(heartbeat));
    if (attempts > 1) for (const { onGap } of [...listeners.values()].flatMap((set) => [...set])) onGap?.();
  }

  /** Closes the connection, whose end starts the next one. */
  function giveUp(client: Client, error: unknown): void {
    if (!closed) onError?.(error);
    destroyClient(client);
  }

  return {
    on(channel, listener, onGap) {
      const set = listeners.get(channel) ?? new Set();
      const added = { listener, onGap };
      listeners.set(channel, set.add(added));
      return () => set.delete(added);
    },
    emit(channel, payload) {
      if (payload.length > MAX_PAYLOAD_CHARACTERS) {
        throw new Error(
          `The payload of a signal has at most ${MAX_PAYLOAD_CHARACTERS} characters: send an id instead.`,
        );
      }
      callListeners(channel, payload);
      if (closed) return;
      waiting.add(`${origin}|${channel}|${payload}`);
      // The signals of one transaction are emitted one after the other, and leave in one NOTIFY.
      notifying ??= Promise.resolve()
        .then(notify)
        .finally(() => {
          notifying = undefined;
        });
    },
    listen() {
      if (isPooled(directUrl)) throw new SessionNeededError("LISTEN");
      if (!listening && !closed) void connect();
    },
    async close() {
      closed = true;
      clearTimeout(reconnect);
      await notifying;
      const client = listening;
      if (!client) return;
      await Promise.race([client.end().catch(() => {}), delay(GOODBYE_MS, undefined, { ref: false })]);
      destroyClient(client);
    },
  };
}
