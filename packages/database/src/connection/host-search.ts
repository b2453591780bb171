import { Client } from "pg";
import { sqlState } from "../sql/sql-state.ts";
import { clientConfig, CONNECTION_TIMEOUT_MS } from "./client-config.ts";
import type { ConnectionSettings } from "./connection-settings.ts";
import type { ServerHost } from "./connection-url.ts";
import { explainTls } from "./tls-error.ts";

/** SQLSTATEs of a wrong role or password, and of a missing database. They are the same on every host. */
const SAME_EVERYWHERE = /^(28...|3D000)$/;

const STATE = `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only')::bool as "isReadOnly"`;

/** No host of the URL can be used now. */
export class NoUsableHostError extends Error {
  override readonly name = "NoUsableHostError";
  readonly code = "NO_USABLE_HOST";
}

/**
 * Finds a host that can be used: the one that was found last, or else the first one of the URL that answers and accepts
 * the sessions of `target_session_attrs`. It connects to a host to find this out.
 */
export class HostSearch {
  readonly #settings: ConnectionSettings;
  #last: ServerHost | undefined;
  #searching: Promise<ServerHost> | undefined;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** Concurrent callers share one search. */
  find(): Promise<ServerHost> {
    this.#searching ??= this.#find().finally(() => {
      this.#searching = undefined;
    });
    return this.#searching;
  }

  async #find(): Promise<ServerHost> {
    const { hosts, targetSession } = this.#settings;
    const [last, reasons]: [ServerHost | undefined, string[]] = [this.#last, []];
    for (const host of last ? [last, ...hosts.filter((one) => one !== last)] : hosts) {
      const reason = await this.#reasonAgainst(host);
      if (reason === undefined) return (this.#last = host);
      reasons.push(`${host.host}:${host.port} ${reason}`);
    }
    const target = targetSession === "any" ? "" : ` for target_session_attrs=${targetSession}`;
    throw new NoUsableHostError(`No host of the URL can be used${target}: ${reasons.join("; ")}.`);
  }

  /** Returns why a host cannot be used now. Throws if no host can be used for the same reason. */
  async #reasonAgainst(host: ServerHost): Promise<string | undefined> {
    const { hosts, targetSession, connectTimeoutMs = CONNECTION_TIMEOUT_MS / hosts.length } = this.#settings;
    const limits = { connectionTimeoutMillis: connectTimeoutMs, query_timeout: connectTimeoutMs };
    const client = new Client(clientConfig(this.#settings, host, { application_name: "collections-hosts", ...limits }));
    client.on("error", () => {});
    try {
      await client.connect();
      if (targetSession === "any") return undefined;
      const { rows } = await client.query<{ isStandby: boolean; isReadOnly: boolean }>(STATE);
      const { isStandby, isReadOnly } = rows[0]!;
      if (isStandby) return "is in recovery";
      return targetSession === "read-write" && isReadOnly ? "is read-only" : undefined;
    } catch (error) {
      const explained = explainTls(error as Error, host, this.#settings.tls);
      if (SAME_EVERYWHERE.test(sqlState(error) ?? "")) throw explained;
      return `failed (${explained.message.replace(/\.$/, "")})`;
    } finally {
      // Do not wait for the server, which may have gone silent.
      void client.end().catch(() => {});
    }
  }
}

/** One search for each URL, so that every client profits from what another client has found. */
const searches = new Map<string, HostSearch>();

/** Returns the search of a URL; undefined if the URL has one host, and target_session_attrs allows every server. */
export function searchOf(url: string, settings: ConnectionSettings): HostSearch | undefined {
  if (settings.hosts.length === 1 && settings.targetSession === "any") return undefined;
  const search = searches.get(url) ?? new HostSearch(settings);
  searches.set(url, search);
  return search;
}
