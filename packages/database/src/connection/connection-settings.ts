import { type ServerHost, splitUrl } from "./connection-url.ts";
import { GivenParameters, type Variables } from "./given-parameters.ts";
import { checkFiles, SYSTEM_CAS, type TlsSettings } from "./tls-settings.ts";

/** How to connect to PostgreSQL: a URL, completed with the environment variables of libpq (`PGSSLMODE` …). */
export interface ConnectionSettings {
  /** At least one. */
  readonly hosts: readonly ServerHost[];
  /** Undefined for the name of the account that runs the process. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Undefined for the database with the user's name. */
  readonly database: string | undefined;
  /** Undefined for connections in plain text. */
  readonly tls: TlsSettings | undefined;
  /** The name of every session, in place of our own names. */
  readonly applicationName: string | undefined;
  /** Command line options for each session, such as `-c work_mem=64MB`. */
  readonly options: string | undefined;
  /** The time limit for connecting to one host. */
  readonly connectTimeoutMs: number | undefined;
  readonly targetSession: TargetSession;
  /** Whether the address is that of a transaction pooler. */
  readonly isPooled: boolean;
}

/** Which servers may be used: any, those that accept writes, or those that are not in recovery. */
export type TargetSession = (typeof TARGET_SESSIONS)[number];

/** Settings with problems must not be used. Each problem is a sentence that tells what to do. */
export interface ReadConnection {
  readonly settings: ConnectionSettings;
  /**
   * A problem of the URL begins with "has", so that the name of a setting can stand before it. A problem of an
   * environment variable begins with the name of the variable.
   */
  readonly problems: readonly string[];
}

const TARGET_SESSIONS = ["any", "read-write", "primary"] as const;
const SSL_MODES = ["disable", "require", "verify-ca", "verify-full"] as const;
const TLS_VERSIONS = ["TLSv1.2", "TLSv1.3"] as const;
const TLS_DETAILS = ["sslrootcert", "sslcert", "sslkey", "ssl_min_protocol_version"] as const;
const SECONDS = /^[1-9]\d{0,2}$/;
/** Settings of a session that this package makes itself, so that `options` would not change them. */
const OWN_SETTINGS = /\b(statement_timeout|lock_timeout|idle_in_transaction_session_timeout)\b/;

/** Reads a URL and the environment variables of libpq. Returns undefined if the text is not a PostgreSQL URL. */
export function readConnection(url: string, env: Variables = process.env): ReadConnection | undefined {
  const address = splitUrl(url);
  if (!address) return undefined;
  const given = new GivenParameters(address.parameters, env);
  const { host: defaultHost, port: defaultPort, user, password, database } = given.defaults;
  const hosts = address.hosts.map(({ host = defaultHost, port = defaultPort }) => ({ host, port }));
  const usesSockets = hosts.some(({ host }) => host.startsWith("/"));
  if (usesSockets && hosts.length > 1) given.problem("has several hosts and a Unix socket: use host names only");
  return {
    settings: {
      hosts,
      user: address.user ?? user,
      password: address.password ?? password,
      database: address.database ?? database,
      tls: readTls(given, usesSockets),
      applicationName: given.value("application_name"),
      options: readOptions(given),
      connectTimeoutMs: readConnectTimeout(given),
      targetSession: given.choice("target_session_attrs", TARGET_SESSIONS) ?? "any",
      isPooled: given.choice("pgbouncer", ["true", "false"]) === "true",
    },
    problems: given.problems,
  };
}

/**
 * Returns a sentence for each part of a URL that is wrong or would not be obeyed, and for each such environment variable
 * of libpq (`PGSSLMODE` …). A sentence about the URL begins in lower case, so that the name of a setting can stand
 * before it. No sentence contains the password.
 *
 * @example
 * const problems = connectionProblems(url); // has sslmode=prefer: expected disable, require, verify-ca, verify-full
 * if (problems.length > 0) throw new Error(`DATABASE_URL ${problems[0]}`);
 */
export function connectionProblems(url: string): readonly string[] {
  return readConnection(url)?.problems ?? ["takes a URL such as postgres://user:password@host:5432/database"];
}

/** A Unix socket, or an address of this machine. */
const LOCAL_HOST = /^(\/.*|localhost|127(\.\d+){3}|::1)$/;

/**
 * Returns whether connections of a URL send everything in plain text over a network.
 *
 * @example
 * if (isPlainText(url)) console.warn("PostgreSQL is reached in plain text: add sslmode=verify-full to the URL.");
 */
export function isPlainText(url: string): boolean {
  const settings = readConnection(url)?.settings;
  return settings?.tls === undefined && (settings?.hosts ?? []).some(({ host }) => !LOCAL_HOST.test(host));
}

/** Reads the parameters of TLS, which has no effect over a Unix socket. */
function readTls(given: GivenParameters, usesSockets: boolean): TlsSettings | undefined {
  const mode = given.choice("sslmode", SSL_MODES);
  const minVersion = given.choice("ssl_min_protocol_version", TLS_VERSIONS);
  if (given.value("sslmode") === undefined) {
    for (const name of TLS_DETAILS) if (given.value(name)) given.reject(name, "it has no effect without sslmode");
  }
  if (mode === undefined || mode === "disable" || usesSockets) return undefined;
  const [rootCert, cert, key] = (["sslrootcert", "sslcert", "sslkey"] as const).map((name) => given.value(name));
  const tls = { mode, rootCert, cert, key, minVersion };
  if (mode === "verify-ca" && rootCert === undefined)
    given.reject("sslmode", "it needs sslrootcert, the file with the certificate of your CA");
  if (rootCert === SYSTEM_CAS && mode !== "verify-full") given.reject("sslrootcert", "it needs sslmode=verify-full");
  if (cert !== undefined && key === undefined) given.reject("sslcert", "it needs sslkey");
  if (key !== undefined && cert === undefined) given.reject("sslkey", "it needs sslcert");
  checkFiles(tls, (name, problem) => given.reject(name, problem));
  return tls;
}

function readOptions(given: GivenParameters): string | undefined {
  const options = given.value("options");
  const own = options && OWN_SETTINGS.exec(options)?.[1];
  if (own) given.reject("options", `remove ${own}, whose value is fixed`);
  return options;
}

function readConnectTimeout(given: GivenParameters): number | undefined {
  const seconds = given.value("connect_timeout");
  if (seconds === undefined) return undefined;
  if (!SECONDS.test(seconds)) given.reject("connect_timeout", "expected seconds from 1 to 999");
  return Number(seconds) * 1_000;
}
