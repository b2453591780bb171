import { validateHeaderValue } from "node:http";
import { parseArgs } from "node:util";
import { HEADERS } from "@collections/signing";
import { CHECKS } from "../checks/checks.ts";
import { endpointOf } from "../checks/run.ts";
import { readHeader, readState, readUrl } from "./argument-forms.ts";
import { UsageError } from "../usage-error.ts";
import type { Key, Settings } from "../stand-in/settings.ts";

const DEFAULT_TIMEOUT_SECONDS = "10";
const DEFAULT_STATE_LAG_SECONDS = "5";
const MAX_SECONDS = 600;

/** The command line after parsing. `json` and `junit` select the form of the report. */
export type Invocation =
  | { readonly kind: "help" }
  | { readonly kind: "list" }
  | {
      readonly kind: "run";
      readonly settings: Settings;
      readonly only: readonly string[];
      readonly json: boolean;
      readonly junit: string | undefined;
    };

const OPTIONS = {
  receiver: { type: "string" },
  mint: { type: "string" },
  reconcile: { type: "string" },
  secret: { type: "string" },
  "key-id": { type: "string" },
  "second-secret": { type: "string" },
  "second-key-id": { type: "string" },
  "mint-auth-header": { type: "string" },
  state: { type: "string" },
  "state-auth-header": { type: "string" },
  "state-lag": { type: "string", default: DEFAULT_STATE_LAG_SECONDS },
  "service-port": { type: "string" },
  loan: { type: "string" },
  currency: { type: "string", default: "INR" },
  "lender-code": { type: "string", default: "CONFORMANCE" },
  only: { type: "string", multiple: true, default: [] as string[] },
  timeout: { type: "string", default: DEFAULT_TIMEOUT_SECONDS },
  json: { type: "boolean", default: false },
  junit: { type: "string" },
  list: { type: "boolean", default: false },
  help: { type: "boolean", default: false, short: "h" },
} as const;

type Values = ReturnType<typeof parse>;

/** The names of all options. The test of the documentation compares them with the text. */
export const OPTION_NAMES: readonly string[] = Object.keys(OPTIONS);

/**
 * Parses a command line. Secrets may come from the environment. Throws UsageError, whose text never repeats a value of
 * an option that holds a secret.
 */
export function readArguments(args: readonly string[], env: NodeJS.ProcessEnv): Invocation {
  const values = parse(args);
  if (values.help) return { kind: "help" };
  if (values.list) return { kind: "list" };
  const { json, junit } = values;
  const settings = readSettings(values, env);
  return { kind: "run", settings, only: readOnly(values.only, settings), json, junit };
}

function parse(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    // Do not quote the word in the message, because it may be a secret. For example, it is the token of an auth header
    // that was passed without quotes.
    if (positionals.length > 0)
      throw new UsageError("A word does not belong to any option: put values with spaces in quotes.");
    return values;
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message.split("\n", 1).join(""));
    throw error;
  }
}

function readSettings(values: Values, env: NodeJS.ProcessEnv): Settings {
  const receiver = readUrl("receiver", values.receiver);
  const mint = readUrl("mint", values.mint);
  const reconcile = readUrl("reconcile", values.reconcile);
  if (receiver === undefined && mint === undefined && reconcile === undefined) {
    throw new UsageError(
      "Give the URL of your receiver with --receiver, of your mint endpoint with --mint, or of your reconciliation with --reconcile.",
    );
  }
  if (reconcile !== undefined && values["service-port"] === undefined) {
    throw new UsageError("--reconcile needs --service-port: the kit answers your program's calls on this port.");
  }
  return {
    receiver,
    mint,
    reconcile,
    key: readKey(values, env),
    secondKey: readSecondKey(values, env),
    mintAuthHeader: readHeader("mint-auth-header", values["mint-auth-header"] ?? env["CONFORMANCE_MINT_AUTH_HEADER"]),
    state: readState(values.state),
    stateAuthHeader: readHeader(
      "state-auth-header",
      values["state-auth-header"] ?? env["CONFORMANCE_STATE_AUTH_HEADER"],
    ),
    servicePort: readPort(values["service-port"]),
    loan: values.loan,
    currency: readCurrency(values.currency),
    lenderCode: values["lender-code"],
    stateLagMs: readSeconds("state-lag", values["state-lag"]),
    timeoutMs: readSeconds("timeout", values.timeout),
  };
}

function readKey(values: Values, env: NodeJS.ProcessEnv): Key {
  const secret = values.secret ?? env["CONFORMANCE_SECRET"] ?? "";
  if (secret === "") {
    throw new UsageError("Give the secret that your endpoints use, with --secret or in CONFORMANCE_SECRET.");
  }
  return { keyId: readKeyId("key-id", values["key-id"]), secret };
}

function readSecondKey(values: Values, env: NodeJS.ProcessEnv): Key | undefined {
  const secret = values["second-secret"] ?? env["CONFORMANCE_SECOND_SECRET"] ?? "";
  const keyId = values["second-key-id"];
  if (secret === "" && keyId === undefined) return undefined;
  if (secret === "" || keyId === undefined) {
    throw new UsageError("A second key needs both --second-key-id and --second-secret.");
  }
  return { keyId: readKeyId("second-key-id", keyId), secret };
}

function readKeyId(option: string, keyId: string | undefined): string {
  if (keyId === undefined || keyId === "") {
    throw new UsageError(`Give the id of the key, lk_…, with --${option}. It is sent as ${HEADERS.keyId}.`);
  }
  if (keyId.startsWith("sk_")) throw new UsageError(`--${option} must be the key id, lk_…, not the secret.`);
  try {
    validateHeaderValue(HEADERS.keyId, keyId);
  } catch {
    throw new UsageError(`--${option} contains characters that are not valid in a header.`);
  }
  return keyId;
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new UsageError(`--service-port must be a port from 1 to 65535, got "${text}".`);
}

function readCurrency(text: string): string {
  if (/^[A-Z]{3}$/.test(text)) return text;
  throw new UsageError(`--currency must be an ISO 4217 code such as INR, got "${text}".`);
}

function readSeconds(option: string, text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds > 0 && seconds <= MAX_SECONDS) return Math.ceil(seconds * 1000);
  throw new UsageError(`--${option} must be a number of seconds above 0 and up to ${MAX_SECONDS}, got "${text}".`);
}

/** Reads names of checks, in full or only the part before the dot, separated by commas. Throws UsageError. */
function readOnly(texts: readonly string[], settings: Settings): string[] {
  const names = texts.flatMap((text) => text.split(",")).map((name) => name.trim());
  for (const name of names) {
    const matching = CHECKS.filter((check) => check.name === name || check.name.startsWith(`${name}.`));
    if (matching.length === 0) throw new UsageError(`--only: there is no check "${name}". --list shows all checks.`);
    const endpoint = endpointOf(matching[0]!.name);
    if (settings[endpoint] === undefined) {
      throw new UsageError(`--only ${name} needs --${endpoint} with the URL of that endpoint.`);
    }
  }
  return names;
}
