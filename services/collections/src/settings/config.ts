import { isPooled } from "@collections/database";
import { type AllowList, InvalidAllowListError, parseAllowList } from "@collections/outbound";
import { DEFAULT_LADDER, InvalidLadderError, type Ladder, parseLadder } from "@collections/webhooks";
import { z } from "zod";
import { type AnchorPlace, anchorPlace, ledgerAnchor } from "./anchor-settings.ts";
import {
  consoleOidc,
  type ConsoleOidcSettings,
  oidcClaim,
  oidcClientText,
  oidcIssuer,
  oidcScope,
  problemsOfOidc,
} from "./console-oidc.ts";
import {
  missingForOtp,
  oneHeader,
  type OtpSettings,
  otpSettings,
  smsBody,
  smsText,
  smsUrl,
  whatsappNumberId,
  whatsappTemplate,
} from "./otp-settings.ts";
import { PROXY_HEADERS, type ProxyHeader } from "./proxy-header.ts";
import { parseRateLimits, type RateLimits } from "./rate-limits.ts";
import { secondPersonAbove, type SecondPersonLimits } from "./second-person.ts";
import {
  documentationUrl,
  duration,
  DURATION_UNITS_MS,
  masterKey,
  postgresUrl,
  proxies,
  publicUrl,
  timeout,
  wholeNumber,
} from "./setting-readers.ts";

/** The separate address at which metrics are served. */
export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

/** The settings of the service, read once at the start from environment variables. */
export interface Config {
  /** The URL of the database; undefined for the embedded PostgreSQL under `.data/`. */
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  databaseMigrationUrl: string | undefined;
  port: number;
  host: string;
  /** The separate address of `/metrics`; undefined if `/metrics` is served at the address of the APIs. */
  metricsAddress: MetricsAddress | undefined;
  role: Role;
  /** The deployment's name. */
  environment: string;
  /** Whether the deployment is `sandbox`, or `sandbox-` and a name: it explains mistakes and shows sign-in codes. */
  isSandbox: boolean;
  /** The master key, 32 bytes as hex; undefined if the development key under `.data/` is used. */
  masterKey: string | undefined;
  masterKeyPrevious: string | undefined;
  publicBasePath: string;
  /** The origin of the console's URLs, such as `https://desk.example`; undefined if `PUBLIC_URL` is not set. */
  publicUrl: string | undefined;
  /** Whether the operators' console is served at `/console`. */
  hasConsole: boolean;
  /** The OpenID Connect provider by which operators sign in to the console; undefined if there is none. */
  consoleOidc: ConsoleOidcSettings | undefined;
  /** The amounts above which a second person confirms a change in the console; undefined if no change needs one. */
  secondPersonAbove: SecondPersonLimits | undefined;
  /**
   * The start of the URL of each documentation page, without a slash at the end. It is a path if `DOCUMENTATION_URL` is
   * not set: the service then serves the pages below `publicBasePath`.
   */
  documentationUrl: string;
  outboundAllow: AllowList;
  webhookLadder: Ladder;
  webhookTimeoutMs: number;
  webhookSuspendAfter: number;
  webhookSuspendMinDurationMs: number;
  webhookProbeIntervalMs: number;
  /**
   * How long a query waits for a connection of the pool, and a new connection for the server. Undefined for the
   * `connect_timeout` of the URL, or else 5 seconds.
   */
  databaseConnectionTimeoutMs: number | undefined;
  /** How long a query waits for its answer. */
  databaseAnswerTimeoutMs: number;
  /** How long a process that was asked to stop still serves requests, while `/readyz` answers 503. */
  shutdownDelayMs: number;
  /** How long a process that was asked to stop may then take. */
  shutdownTimeoutMs: number;
  /** How long an idle connection of a client stays open. */
  keepAliveTimeoutMs: number;
  mintTimeoutMs: number;
  rateLimits: RateLimits;
  /** Whether apps may (`allow`) or must (`only`) send the hash of an operation in `persistedOperationsFile`. */
  persistedOperations: "off" | "allow" | "only";
  persistedOperationsFile: string | undefined;
  /** The number of cases whose contact details one field partner may see in a day. */
  contactRevealsPerDay: number;
  trustProxy: string[];
  /** The header in which the trusted proxies name the client. */
  proxyHeader: ProxyHeader;
  /** The maximum number of connections that one process has at the same time. */
  maxConnections: number;
  smtpUrl: string | undefined;
  mailFrom: string;
  whatsappBaseUrl: string;
  otp: OtpSettings;
  /** Where workers keep anchors of the hash chains; undefined if they keep none. */
  ledgerAnchor: AnchorPlace | undefined;
  ledgerAnchorIntervalMs: number;
  logLevel: LogLevel;
}

export type Role = "all" | "server" | "worker";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** One or more settings are wrong; `problems` has a sentence for each. */
export class InvalidConfigError extends Error {
  override readonly name = "InvalidConfigError";
  readonly problems: string[];

  constructor(problems: string[]) {
    super(`The settings are not usable:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

const ENVIRONMENT_NAME = /^[a-z][a-z0-9-]{0,31}$/;

const settings = z.object({
  DATABASE_URL: postgresUrl,
  DATABASE_DIRECT_URL: postgresUrl,
  DATABASE_MIGRATION_URL: postgresUrl,
  PORT: wholeNumber({ from: 0, to: 65_535 }, "takes a port from 0 to 65535").default(3000),
  HOST: z.string().default("127.0.0.1"),
  METRICS_PORT: wholeNumber({ from: 0, to: 65_535 }, "takes a port from 0 to 65535").optional(),
  METRICS_HOST: z.string().default("127.0.0.1"),
  ROLE: z.enum(["all", "server", "worker"], { error: "must be one of all, server, worker" }).default("all"),
  ENVIRONMENT: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,31}$/,
      "must be sandbox, sandbox-<name in lower case>, or the name of a production such as live",
    )
    .default("sandbox"),
  MASTER_KEY: masterKey,
  MASTER_KEY_PREVIOUS: masterKey,
  PUBLIC_BASE_PATH: z
    .string()
    .regex(/^(\/[^/?#]+)*$/, "must be a path such as /collections, without a slash at the end")
    .default(""),
  PUBLIC_URL: publicUrl,
  CONSOLE: z.enum(["on", "off"], { error: "must be one of on, off" }).optional(),
  CONSOLE_OIDC_ISSUER: oidcIssuer,
  CONSOLE_OIDC_CLIENT_ID: oidcClientText,
  CONSOLE_OIDC_CLIENT_SECRET: oidcClientText,
  CONSOLE_OIDC_SCOPE: oidcScope,
  CONSOLE_OIDC_ROLES_CLAIM: oidcClaim("roles"),
  CONSOLE_OIDC_NAME_CLAIM: oidcClaim("email"),
  CONSOLE_SECOND_PERSON_ABOVE: secondPersonAbove,
  DOCUMENTATION_URL: documentationUrl,
  OUTBOUND_ALLOW: z
    .string()
    .default("")
    .transform((text, context) => parsed(context, () => parseAllowList(text))),
  WEBHOOK_LADDER: z
    .string()
    .default(DEFAULT_LADDER)
    .transform((text, context) => parsed(context, () => parseLadder(text))),
  WEBHOOK_TIMEOUT: timeout.default(10_000),
  WEBHOOK_SUSPEND_AFTER: wholeNumber({ from: 1, to: 1_000_000 }, "takes a count of failures, at least 1").default(20),
  WEBHOOK_SUSPEND_MIN_DURATION: duration.default(DURATION_UNITS_MS.m),
  WEBHOOK_PROBE_INTERVAL: timeout.default(15 * DURATION_UNITS_MS.m),
  DATABASE_CONNECTION_TIMEOUT: timeout.optional(),
  DATABASE_ANSWER_TIMEOUT: timeout.default(12_000),
  SHUTDOWN_DELAY: duration.default(0),
  SHUTDOWN_TIMEOUT: timeout.default(15_000),
  // Longer than the idle time of most load balancers, so that the load balancer closes an idle connection first and sends
  // no request into a closing socket.
  KEEP_ALIVE_TIMEOUT: timeout.default(75_000),
  MINT_TIMEOUT: timeout.default(10_000),
  RATE_LIMITS: z
    .string()
    .default("default")
    .transform((text, context) => {
      if (text === "off") return "off" as const;
      const { limits, mistake } = parseRateLimits(text);
      if (mistake !== undefined) context.addIssue({ code: "custom", message: mistake });
      return limits;
    }),
  PERSISTED_OPERATIONS: z.enum(["off", "allow", "only"], { error: "must be one of off, allow, only" }).default("off"),
  PERSISTED_OPERATIONS_FILE: z.string().optional(),
  CONTACT_REVEALS_PER_DAY: wholeNumber({ from: 0, to: 10_000 }, "takes a count of cases, from 0 to 10000").default(50),
  TRUST_PROXY: proxies,
  PROXY_HEADER: z
    .enum(PROXY_HEADERS, { error: `must be one of ${PROXY_HEADERS.join(", ")}` })
    .default("x-forwarded-for"),
  MAX_CONNECTIONS: wholeNumber({ from: 10, to: 1_000_000 }, "takes a count of connections, at least 10").default(5_000),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, hostname: /./, error: "takes a URL such as smtp://user:password@host:587" })
    .optional(),
  MAIL_FROM: z
    .string()
    .regex(
      /^([^\p{Cc}<>]*<[^\s<>@]+@[a-z0-9.-]+>|[^\s<>@]+@[a-z0-9.-]+)$/iu,
      "takes Name <name@example.com> or name@example.com",
    )
    .default("Partner Collections <no-reply@localhost>"),
  WHATSAPP_BASE_URL: z
    .url({ protocol: /^https?$/, error: "takes a URL such as https://graph.facebook.com/v23.0" })
    .default("https://graph.facebook.com/v23.0"),
  OTP_WHATSAPP_PHONE_NUMBER_ID: whatsappNumberId,
  OTP_WHATSAPP_TOKEN: z.string().regex(/^\S+$/, "takes an access token, without spaces").optional(),
  OTP_WHATSAPP_TEMPLATE: whatsappTemplate,
  OTP_SMS_URL: smsUrl,
  OTP_SMS_HEADER: oneHeader,
  OTP_SMS_BODY: smsBody,
  OTP_SMS_TEXT: smsText,
  LEDGER_ANCHOR: ledgerAnchor,
  LEDGER_ANCHOR_HEADER: oneHeader,
  LEDGER_ANCHOR_INTERVAL: timeout.default(5 * DURATION_UNITS_MS.m),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(", ")}` }).default("info"),
});

/**
 * Reads the settings from environment variables. An empty variable counts as absent.
 * @throws InvalidConfigError that names every mistake, not only the first
 */
export function readConfig(env: Record<string, string | undefined>): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ""));
  // The settings are read once, and zod takes longer to compile a check than to make it.
  const parsed = settings.safeParse(given, { jitless: true });
  // A problem of an environment variable of libpq is found with each URL.
  const problems = parsed.success ? missingForOtp(given) : [...new Set(parsed.error.issues.map(problemOf))];
  if (lacksOperationsFile(given)) {
    problems.push("PERSISTED_OPERATIONS_FILE is required where PERSISTED_OPERATIONS is allow or only");
  }
  if (parsed.success) {
    problems.push(...poolerProblems(given), ...timeoutProblems(given));
    problems.push(...problemsOfOidc(given, { isProduction: isProduction(given["ENVIRONMENT"]) }));
  }
  if (given["METRICS_HOST"] !== undefined && given["METRICS_PORT"] === undefined) {
    problems.push("METRICS_PORT is required where METRICS_HOST is set");
  }
  if (isProduction(given["ENVIRONMENT"])) problems.push(...missingInProduction(given));
  if (!parsed.success || problems.length > 0) throw new InvalidConfigError(problems);
  const value = parsed.data;
  return {
    databaseUrl: value.DATABASE_URL,
    databaseDirectUrl: value.DATABASE_DIRECT_URL ?? value.DATABASE_URL,
    databaseMigrationUrl: value.DATABASE_MIGRATION_URL ?? value.DATABASE_DIRECT_URL ?? value.DATABASE_URL,
    port: value.PORT,
    host: value.HOST,
    metricsAddress:
      value.METRICS_PORT === undefined ? undefined : { host: value.METRICS_HOST, port: value.METRICS_PORT },
    role: value.ROLE,
    environment: value.ENVIRONMENT,
    isSandbox: isSandbox(value.ENVIRONMENT),
    masterKey: value.MASTER_KEY?.toLowerCase(),
    masterKeyPrevious: value.MASTER_KEY_PREVIOUS?.toLowerCase(),
    publicBasePath: value.PUBLIC_BASE_PATH,
    publicUrl: value.PUBLIC_URL,
    hasConsole: value.CONSOLE === undefined ? isSandbox(value.ENVIRONMENT) : value.CONSOLE === "on",
    consoleOidc: consoleOidc(value),
    secondPersonAbove: value.CONSOLE_SECOND_PERSON_ABOVE,
    documentationUrl: value.DOCUMENTATION_URL ?? value.PUBLIC_BASE_PATH,
    outboundAllow: value.OUTBOUND_ALLOW,
    webhookLadder: value.WEBHOOK_LADDER,
    webhookTimeoutMs: value.WEBHOOK_TIMEOUT,
    webhookSuspendAfter: value.WEBHOOK_SUSPEND_AFTER,
    webhookSuspendMinDurationMs: value.WEBHOOK_SUSPEND_MIN_DURATION,
    webhookProbeIntervalMs: value.WEBHOOK_PROBE_INTERVAL,
    databaseConnectionTimeoutMs: value.DATABASE_CONNECTION_TIMEOUT,
    databaseAnswerTimeoutMs: value.DATABASE_ANSWER_TIMEOUT,
    shutdownDelayMs: value.SHUTDOWN_DELAY,
    shutdownTimeoutMs: value.SHUTDOWN_TIMEOUT,
    keepAliveTimeoutMs: value.KEEP_ALIVE_TIMEOUT,
    mintTimeoutMs: value.MINT_TIMEOUT,
    rateLimits: value.RATE_LIMITS,
    persistedOperations: value.PERSISTED_OPERATIONS,
    persistedOperationsFile: value.PERSISTED_OPERATIONS_FILE,
    contactRevealsPerDay: value.CONTACT_REVEALS_PER_DAY,
    trustProxy: value.TRUST_PROXY,
    proxyHeader: value.PROXY_HEADER,
    maxConnections: value.MAX_CONNECTIONS,
    smtpUrl: value.SMTP_URL,
    mailFrom: value.MAIL_FROM,
    whatsappBaseUrl: value.WHATSAPP_BASE_URL.replace(/\/$/, ""),
    otp: otpSettings(value),
    ledgerAnchor: anchorPlace(value.LEDGER_ANCHOR, value.LEDGER_ANCHOR_HEADER),
    ledgerAnchorIntervalMs: value.LEDGER_ANCHOR_INTERVAL,
    logLevel: value.LOG_LEVEL,
  };
}

/**
 * Returns a sentence that begins with the name of the setting. Messages of other packages may begin with it already.
 */
function problemOf({ path, message }: { path: PropertyKey[]; message: string }): string {
  const name = path.join(".");
  if (message.startsWith(name) || /^PG[A-Z_]+ is /.test(message)) return message;
  return /^[a-z]/.test(message) ? `${name} ${message}` : `${name}: ${message}`;
}

/**
 * Runs a parser of another package and returns its result. Reports a value that the parser rejects as an issue of the
 * setting.
 */
function parsed<Value>(context: z.RefinementCtx, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidAllowListError || error instanceof InvalidLadderError)) throw error;
    context.addIssue({ code: "custom", message: error.message });
    return z.NEVER;
  }
}

/**
 * Every name except `sandbox` and `sandbox-…` counts as production. This is safer for a mistyped name: operators notice
 * a feature that is disabled by mistake, but not one that is enabled by mistake.
 */
function isSandbox(environment: string): boolean {
  return environment === "sandbox" || environment.startsWith("sandbox-");
}

/**
 * Whether an environment counts as production. Returns false for an invalid name too, because another check reports
 * that.
 */
function isProduction(environment = "sandbox"): boolean {
  return ENVIRONMENT_NAME.test(environment) && !isSandbox(environment);
}

/**
 * Returns problems of settings that lead to a pooler. A pooler shares sessions between transactions. Work that needs a
 * session of its own needs an address that bypasses the pooler.
 */
function poolerProblems(given: Record<string, string | undefined>): string[] {
  const problems = ["DATABASE_DIRECT_URL", "DATABASE_MIGRATION_URL"]
    .filter((name) => given[name] !== undefined && isPooled(given[name]))
    .map((name) => `${name} leads to a pooler (pgbouncer=true): give it an address that bypasses the pooler`);
  const pooled = given["DATABASE_URL"] !== undefined && isPooled(given["DATABASE_URL"]);
  if (pooled && given["DATABASE_DIRECT_URL"] === undefined) {
    problems.push("DATABASE_DIRECT_URL is required where DATABASE_URL leads to a pooler (pgbouncer=true)");
  }
  return problems;
}

/** Returns the problems of URLs whose `connect_timeout` would not count, because a setting limits the same time. */
function timeoutProblems(given: Record<string, string | undefined>): string[] {
  if (given["DATABASE_CONNECTION_TIMEOUT"] === undefined) return [];
  return ["DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_MIGRATION_URL"]
    .filter((name) => /[?&]connect_timeout=/.test(given[name] ?? ""))
    .map((name) => `${name} has connect_timeout, and DATABASE_CONNECTION_TIMEOUT is set: remove one of them`);
}

function lacksOperationsFile(given: Record<string, string | undefined>): boolean {
  const { PERSISTED_OPERATIONS: mode, PERSISTED_OPERATIONS_FILE: file } = given;
  return (mode === "allow" || mode === "only") && file === undefined;
}

function missingInProduction(given: Record<string, string | undefined>): string[] {
  const problems = ["DATABASE_URL", "MASTER_KEY"]
    .filter((name) => given[name] === undefined)
    .map((name) => `${name} is required where ENVIRONMENT is not a sandbox`);
  // Without it, anybody who chooses the Host header would choose the origin that the console accepts forms from.
  if (given["CONSOLE"] === "on" && given["PUBLIC_URL"] === undefined) {
    problems.push("PUBLIC_URL is required where CONSOLE is on and ENVIRONMENT is not a sandbox");
  }
  return problems;
}
