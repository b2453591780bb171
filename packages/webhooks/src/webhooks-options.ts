import type { Job } from "@collections/database";
import type { DispatcherOptions } from "./dispatch/dispatcher.ts";
import type { AlertJob } from "./endpoint/alert.ts";
import type { ProbeFacts } from "./endpoint/probe.ts";
import type { SuspensionRule } from "./endpoint/suspension.ts";
import type { Ping } from "./endpoint/test-endpoint.ts";
import { quote } from "./event-input.ts";

/**
 * The options of `startWebhooks`. The host supplies the database, the outbound client, the signing key and the ping of each
 * tenant, and the mails of alerts. All settings have defaults.
 *
 * @example
 * const options: WebhooksOptions = {
 *   database, outbound, signingKeyOf, pingOf,
 *   sendAlert: ({ data }) => writeMail(data),
 *   ladder: parseLadder("0s,10s,1m"),
 *   suspension: { suspendAfter: 50, probeIntervalMs: 60_000 },
 *   onAttempt: ({ state, durationMs }) => console.log(state, durationMs),
 * };
 */
export interface WebhooksOptions extends DispatcherOptions {
  /**
   * Makes the ping that probes a tenant's suspended endpoint: an event id, and a body that contains the id. `endpoint` is
   * undefined for the unnamed endpoint.
   */
  readonly pingOf: (tenantId: string, endpoint?: string) => Ping | Promise<Ping>;
  /**
   * Mails an alert to the tenant's technical contacts. If it throws, the job is retried for about a day. Default: this
   * process leaves the jobs of `alertQueue` to other processes.
   */
  readonly sendAlert?: (job: Job<AlertJob>) => Promise<void>;
  /** Events and attempts are deleted after this many days, 32 at least. Default 35. */
  readonly keepDays?: number;
  /** Called for every probe of a suspended endpoint. */
  readonly onProbe?: (probed: ProbeFacts) => void;
}

/**
 * An option of `startWebhooks` is missing, invalid or unknown. Nothing was started.
 *
 * @example
 * await startWebhooks({ database, outbound, signingKeyOf, pingOf, keepDays: 7 }).catch((error: unknown) => {
 *   if (error instanceof InvalidWebhookOptionError) console.error(error.option, error.message);
 *   throw error;
 * });
 */
export class InvalidWebhookOptionError extends Error {
  override readonly name = "InvalidWebhookOptionError";
  readonly code = "INVALID_WEBHOOK_OPTION";
  readonly option: string;

  constructor(option: string, problem: string) {
    super(`startWebhooks: the option ${option} ${problem}.`);
    this.option = option;
  }
}

/** The names of all options. The compiler rejects a missing or an additional name. */
const OPTIONS: Readonly<Record<keyof WebhooksOptions, true>> = {
  database: true,
  outbound: true,
  signingKeyOf: true,
  headersOf: true,
  pingOf: true,
  sendAlert: true,
  headerPrefix: true,
  userAgent: true,
  standardHeaders: true,
  ladder: true,
  blockedAttempts: true,
  suspension: true,
  timeoutMs: true,
  leaseBeyondTimeoutMs: true,
  maxInFlight: true,
  maxPerEndpoint: true,
  pollIntervalMs: true,
  oneLenderABatch: true,
  keepDays: true,
  now: true,
  random: true,
  log: true,
  onAttempt: true,
  onProbe: true,
};

const FUNCTIONS = ["signingKeyOf", "pingOf"] as const;
const OPTIONAL_FUNCTIONS = ["headersOf", "sendAlert", "now", "random", "onAttempt", "onProbe"] as const;
const LIMITS = {
  timeoutMs: 1,
  leaseBeyondTimeoutMs: 300,
  blockedAttempts: 1,
  maxInFlight: 1,
  maxPerEndpoint: 1,
  pollIntervalMs: 1,
  keepDays: 32,
} as const;
const HEADER_PREFIX = /^[A-Za-z][A-Za-z0-9-]{0,59}$/;
const USER_AGENT = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/;

/** Checks the options of `startWebhooks`. The caller may be JavaScript, so the types are checked too. */
export function checkOptions(options: WebhooksOptions): void {
  const given = (options ?? {}) as { readonly [Option in keyof WebhooksOptions]: unknown };
  const check = (option: keyof WebhooksOptions, isValid: boolean, expected: string): void => {
    if (!isValid) throw new InvalidWebhookOptionError(option, `is ${quote(given[option])}; expected ${expected}`);
  };
  for (const option of Object.keys(given)) {
    if (Object.hasOwn(OPTIONS, option)) continue;
    throw new InvalidWebhookOptionError(option, `is unknown; the options are ${Object.keys(OPTIONS).join(", ")}`);
  }
  check("database", hasFunction(given.database, "em"), "the result of createDatabase()");
  check("outbound", hasFunction(given.outbound, "request"), "the result of createOutbound()");
  for (const option of FUNCTIONS) check(option, typeof given[option] === "function", "a function");
  for (const option of OPTIONAL_FUNCTIONS) {
    check(option, given[option] === undefined || typeof given[option] === "function", "a function");
  }
  for (const [option, least] of Object.entries(LIMITS) as [keyof typeof LIMITS, number][]) {
    check(option, isAbsentOrFrom(given[option], least), `a whole number from ${least}`);
  }
  check("ladder", isAbsentOrLadder(given.ladder), 'the result of parseLadder, such as parseLadder("0s,30s,2m")');
  check(
    "suspension",
    isAbsentOrSuspension(given.suspension),
    "{ suspendAfter, probeIntervalMs }, both whole numbers from 1, and perhaps minDurationMs, a whole number from 0",
  );
  check("headerPrefix", isAbsentOr(given.headerPrefix, HEADER_PREFIX), "letters, digits and hyphens, such as X-Acme-");
  const { standardHeaders } = given;
  check("standardHeaders", standardHeaders === undefined || typeof standardHeaders === "boolean", "true or false");
  check("userAgent", isAbsentOr(given.userAgent, USER_AGENT), "visible ASCII characters, such as Acme-Webhooks/1.0");
}

function hasFunction(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function";
}

function isAbsentOrFrom(value: unknown, least: number): boolean {
  return value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value >= least);
}

function isAbsentOrLadder(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) && value[0] === 0 && value.every((wait) => Number.isSafeInteger(wait) && wait >= 0);
}

function isAbsentOrSuspension(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== "object" || value === null) return false;
  const { suspendAfter, probeIntervalMs, minDurationMs } = value as Partial<Record<keyof SuspensionRule, unknown>>;
  const areCounts = [suspendAfter, probeIntervalMs].every((count) => count !== undefined && isAbsentOrFrom(count, 1));
  return areCounts && isAbsentOrFrom(minDurationMs, 0);
}

function isAbsentOr(value: unknown, form: RegExp): boolean {
  return value === undefined || (typeof value === "string" && form.test(value));
}
