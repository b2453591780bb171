import type { ClientBase, QueryConfig } from "pg";
import type { TxClient } from "./open-transaction.ts";
import { CLIENT_TIMEOUT_MS } from "./pooler.ts";
import { ormTypes } from "../sql/row-types.ts";

/** A client that a host has made, with settings that we do not know. */
export function hostClient(client: ClientBase): TxClient {
  return { query: (textOrConfig, values) => client.query(forHost(textOrConfig, values)) };
}

/**
 * A statement as it may go to a host's client: read as on a connection of our own, with an end to the wait for its answer,
 * and without a name, which the host's session would keep and, where its pool leads through a pooler, the next not know.
 */
export function forHost(textOrConfig: string | QueryConfig, values: unknown[] = []): QueryConfig {
  if (typeof textOrConfig !== "string") return { ...textOrConfig, name: undefined };
  const config = { text: textOrConfig, values, types: ormTypes, query_timeout: CLIENT_TIMEOUT_MS };
  return config;
}
