import { userInfo } from "node:os";
import type { Client, ClientConfig } from "pg";
import { type ConnectionSettings, readConnection } from "./connection-settings.ts";
import type { ServerHost } from "./connection-url.ts";
import { tlsOptions } from "./tls-settings.ts";

/** The default of `connectionTimeoutMs`. */
export const CONNECTION_TIMEOUT_MS = 5_000;

const known = new Map<string, ConnectionSettings>();

/** Returns the settings of a URL. They are read once, so that a reconnect cannot fail because a file is being replaced. */
export function settingsOf(url: string): ConnectionSettings {
  const settings = known.get(url) ?? usableSettings(url);
  known.set(url, settings);
  return settings;
}

function usableSettings(url: string): ConnectionSettings {
  const read = readConnection(url);
  if (!read) throw new Error("This is not the URL of a PostgreSQL server.");
  const [problem] = read.problems;
  if (problem !== undefined) throw new Error(`This URL of PostgreSQL cannot be used: it ${problem}.`);
  return read.settings;
}

/**
 * Returns the name of the database, which `@collections/entities` passes to MikroORM. MikroORM does not connect by itself,
 * because it would use only a part of the URL.
 */
export function databaseName({ database, user }: ConnectionSettings): string {
  return database ?? user ?? userInfo().username;
}

/** Returns how long a statement waits for a connection: the `connect_timeout` of the URL for each of its hosts. */
export function connectionTimeoutOf({ connectTimeoutMs, hosts }: ConnectionSettings): number {
  return connectTimeoutMs === undefined ? CONNECTION_TIMEOUT_MS : connectTimeoutMs * hosts.length;
}

/** The configuration of a client for one host of the settings. It replaces that of `given`. */
export function clientConfig(
  { user, password, database, tls, applicationName, options, connectTimeoutMs }: ConnectionSettings,
  { host, port }: ServerHost,
  given: ClientConfig,
): ClientConfig {
  return {
    ...given,
    host,
    port,
    user,
    password,
    database,
    ssl: tls ? tlsOptions(tls) : false,
    sslnegotiation: "postgres",
    application_name: applicationName ?? given.application_name,
    options,
    connectionTimeoutMillis: connectTimeoutMs ?? given.connectionTimeoutMillis,
  };
}

/** The socket of a client; with TLS, the one that decrypts. */
export function socketOf(client: Client): { readonly destroyed: boolean; destroy(error?: Error): void } {
  type Connected = { readonly connection: { readonly stream: { destroyed: boolean; destroy(error?: Error): void } } };
  return (client as unknown as Connected).connection.stream;
}
