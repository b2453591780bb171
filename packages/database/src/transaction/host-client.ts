import type { ClientBase, QueryConfig } from "pg";
import type { TxClient } from "./open-transaction.ts";
import { rowTypes } from "../sql/row-types.ts";
import { CLIENT_TIMEOUT_MS } from "./pooler.ts";

/** A client or a pool that sends plain queries. */
export type Reader = Pick<ClientBase, "query">;

/** Wraps a client that a host has made, and whose settings are unknown. */
export function hostClient(client: ClientBase): TxClient {
  return { query: (textOrConfig, values) => client.query(forHost(textOrConfig, values)) };
}

/**
 * Prepares a statement for a host's client. A plain text gets the type parsers of our own connections and a time limit
 * for its answer. A name is removed, because the host's session may belong to a pooler: the next session would not know
 * the prepared statement.
 */
export function forHost(textOrConfig: string | QueryConfig, values: unknown[] = []): QueryConfig {
  if (typeof textOrConfig !== "string") return { ...textOrConfig, name: undefined };
  const config = { text: textOrConfig, values, types: rowTypes, query_timeout: CLIENT_TIMEOUT_MS };
  return config;
}
