import { afterFile } from "@collections/testing";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/settings/config.ts";
import { parseDuration } from "../../src/settings/setting-readers.ts";
import { developmentMasterKey } from "../../src/settings/local-data.ts";
import { problemsOf } from "../fixtures/config-problems.ts";
import { runService } from "../fixtures/processes.ts";

const DATABASE = "takes a URL such as postgres://user:password@host:5432/database";
const KEY = "takes 64 hexadecimal characters (32 random bytes: openssl rand -hex 32)";
const DURATION = "takes a duration such as 500ms, 2s, 15m or 6h, and 576h at most; got";
const FAILURES = "takes a count of failures, at least 1";
const HOPS =
  "takes addresses or ranges with commas, such as 10.0.0.0/8,192.168.1.7, or loopback, linklocal, uniquelocal";

const ANCHOR =
  "LEDGER_ANCHOR takes file:/ and an absolute path, such as file:/var/lib/anchors.jsonl, or a URL such as https://store.example/anchors";
const ANCHOR_FILE =
  "LEDGER_ANCHOR takes file:/ and an absolute path, such as file:/var/lib/anchors.jsonl (write # as %23, ? as %3F and % as %25)";

const mistakes: [string, string, string][] = [
  ["DATABASE_URL", "mysql://host/db", `DATABASE_URL ${DATABASE}`],
  ["DATABASE_DIRECT_URL", "host:5432", `DATABASE_DIRECT_URL ${DATABASE}`],
  ["DATABASE_MIGRATION_URL", "https://host/db", `DATABASE_MIGRATION_URL ${DATABASE}`],
  ["PORT", "http", "PORT takes a port from 0 to 65535"],
  ["PORT", "65536", "PORT takes a port from 0 to 65535"],
  ["PORT", "0x50", "PORT takes a port from 0 to 65535"],
  ["PORT", " ", "PORT takes a port from 0 to 65535"],
  ["ROLE", "boss", "ROLE must be one of all, server, worker"],
  [
    "ENVIRONMENT",
    "Live",
    "ENVIRONMENT must be sandbox, sandbox-<name in lower case>, or the name of a production such as live",
  ],
  ["MASTER_KEY", "a".repeat(63), `MASTER_KEY ${KEY}`],
  ["MASTER_KEY_PREVIOUS", "g".repeat(64), `MASTER_KEY_PREVIOUS ${KEY}`],
  ["PUBLIC_URL", "desk.example", "PUBLIC_URL takes an origin such as https://desk.example"],
  ["PUBLIC_URL", "https://desk.example/x", "PUBLIC_URL takes an origin without a path: PUBLIC_BASE_PATH is added"],
  ["CONSOLE", "yes", "CONSOLE must be one of on, off"],
  ...["50000", "INR:", "INR:1,INR:2", "XXX:1", "INR:1.001", "inr:1", "INR:-1"].map((text): [string, string, string] => [
    "CONSOLE_SECOND_PERSON_ABOVE",
    text,
    `CONSOLE_SECOND_PERSON_ABOVE takes one amount for each currency, such as INR:50000,USD:500.50; got "${text.split(",").at(-1)}"`,
  ]),
  ["PUBLIC_BASE_PATH", "/a/", "PUBLIC_BASE_PATH must be a path such as /collections, without a slash at the end"],
  ["DOCUMENTATION_URL", "docs.lender.example", "DOCUMENTATION_URL takes a URL such as https://docs.lender.example"],
  [
    "OUTBOUND_ALLOW",
    "http://localhost:80",
    'OUTBOUND_ALLOW entry "http://localhost:80" is not valid: leave out the scheme, write host:port.',
  ],
  [
    "WEBHOOK_LADDER",
    "0s,soon",
    'WEBHOOK_LADDER: The retry ladder\'s step "soon" is not valid: write a whole number and ms, s, m, h or d, for example 30s.',
  ],
  ["WEBHOOK_TIMEOUT", "10", `WEBHOOK_TIMEOUT ${DURATION} "10"`],
  ["WEBHOOK_TIMEOUT", "0s", "WEBHOOK_TIMEOUT takes a duration above 0"],
  ["WEBHOOK_SUSPEND_MIN_DURATION", "60", `WEBHOOK_SUSPEND_MIN_DURATION ${DURATION} "60"`],
  ["WEBHOOK_SUSPEND_AFTER", "many", `WEBHOOK_SUSPEND_AFTER ${FAILURES}`],
  ["WEBHOOK_SUSPEND_AFTER", "1.5", `WEBHOOK_SUSPEND_AFTER ${FAILURES}`],
  ["WEBHOOK_SUSPEND_AFTER", "0", `WEBHOOK_SUSPEND_AFTER ${FAILURES}`],
  ["WEBHOOK_PROBE_INTERVAL", "15 minutes", `WEBHOOK_PROBE_INTERVAL ${DURATION} "15 minutes"`],
  ["MINT_TIMEOUT", "721h", `MINT_TIMEOUT ${DURATION} "721h"`],
  ["DATABASE_CONNECTION_TIMEOUT", "0s", "DATABASE_CONNECTION_TIMEOUT takes a duration above 0"],
  ["SHUTDOWN_DELAY", "-1s", `SHUTDOWN_DELAY ${DURATION} "-1s"`],
  ["KEEP_ALIVE_TIMEOUT", "0s", "KEEP_ALIVE_TIMEOUT takes a duration above 0"],
  ["SHUTDOWN_TIMEOUT", "15", `SHUTDOWN_TIMEOUT ${DURATION} "15"`],
  ["PERSISTED_OPERATIONS", "on", "PERSISTED_OPERATIONS must be one of off, allow, only"],
  ["RATE_LIMITS", "confirm=0", "RATE_LIMITS takes a count of requests a minute, such as confirm=6000"],
  ["TRUST_PROXY", "10.0.0.0/33", `TRUST_PROXY ${HOPS}`],
  ["TRUST_PROXY", "proxy.internal", `TRUST_PROXY ${HOPS}`],
  ["TRUST_PROXY", "10.0.0.0/0", `TRUST_PROXY ${HOPS}`],
  ["PROXY_HEADER", "x-real-ip", "PROXY_HEADER must be one of x-forwarded-for, forwarded"],
  ["MAX_CONNECTIONS", "9", "MAX_CONNECTIONS takes a count of connections, at least 10"],
  ["CONTACT_REVEALS_PER_DAY", "-1", "CONTACT_REVEALS_PER_DAY takes a count of cases, from 0 to 10000"],
  ["SMTP_URL", "mail.example", "SMTP_URL takes a URL such as smtp://user:password@host:587"],
  ["SMTP_URL", "smtp://", "SMTP_URL takes a URL such as smtp://user:password@host:587"],
  ["MAIL_FROM", "nobody", "MAIL_FROM takes Name <name@example.com> or name@example.com"],
  ["WHATSAPP_BASE_URL", "graph", "WHATSAPP_BASE_URL takes a URL such as https://graph.facebook.com/v23.0"],
  ["OTP_WHATSAPP_PHONE_NUMBER_ID", "+91", "OTP_WHATSAPP_PHONE_NUMBER_ID takes Meta's id of the number: digits only"],
  ["OTP_WHATSAPP_TOKEN", "two words", "OTP_WHATSAPP_TOKEN takes an access token, without spaces"],
  [
    "OTP_WHATSAPP_TEMPLATE",
    "Sign In",
    "OTP_WHATSAPP_TEMPLATE takes a template and its language, such as sign_in_code:en",
  ],
  ["OTP_SMS_URL", "sms.example", "OTP_SMS_URL takes a URL such as https://sms.example/send"],
  ["OTP_SMS_HEADER", "Bearer x", "OTP_SMS_HEADER takes one header such as Authorization: Bearer …"],
  ["OTP_SMS_HEADER", "Bad name: x", "OTP_SMS_HEADER takes one header such as Authorization: Bearer …"],
  ["OTP_SMS_BODY", '{"to":"{to}"}', "OTP_SMS_BODY has no place for {text}"],
  ["OTP_SMS_TEXT", "Hello", "OTP_SMS_TEXT must contain {code}"],
  ["LEDGER_ANCHOR", "anchors.jsonl", ANCHOR],
  ["LEDGER_ANCHOR_HEADER", "Bearer x", "LEDGER_ANCHOR_HEADER takes one header such as Authorization: Bearer …"],
  ["LEDGER_ANCHOR_INTERVAL", "597h", `LEDGER_ANCHOR_INTERVAL ${DURATION} "597h"`],
  ["LEDGER_ANCHOR_INTERVAL", "0s", "LEDGER_ANCHOR_INTERVAL takes a duration above 0"],
  ["LOG_LEVEL", "loud", "LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent"],
];

test.each(mistakes)("%s=%j is rejected with one sentence that states the valid values", (name, value, sentence) => {
  expect(problemsOf({ [name]: value })).toEqual([sentence]);
});

test.each([
  ["file:anchors.jsonl", ANCHOR_FILE],
  ["file:/var/lib/", ANCHOR_FILE],
  ["file://host/var/anchors.jsonl", ANCHOR_FILE],
  ["ftp://store.example/anchors", ANCHOR],
  ["https://", ANCHOR],
  [
    "https://user:secret@store.example/anchors",
    "LEDGER_ANCHOR cannot be used: The URL must not contain a user name or password. Credentials go into LEDGER_ANCHOR_HEADER.",
  ],
  ["https://a*b.example/x", ANCHOR],
  ["file:/var/lib/anchors#1.jsonl", ANCHOR_FILE],
  ["file:/var/lib/anchors?.jsonl", ANCHOR_FILE],
  ["file:/var/lib/a%2Fb.jsonl", ANCHOR_FILE],
  ["file:/var/lib/100%.jsonl", ANCHOR_FILE],
  ["file:/var/lib/a%00b.jsonl", ANCHOR_FILE],
  ["https://store.example/anchors#1", "LEDGER_ANCHOR cannot be used: the URL must not have a fragment (#…)"],
])("LEDGER_ANCHOR=%s is rejected", (place, sentence) => {
  expect(problemsOf({ LEDGER_ANCHOR: place })).toEqual([sentence]);
});

test.each([
  "https://docs.lender.example/?page=1",
  "https://docs.lender.example#top",
  "https://me:secret@docs.lender.example",
])("DOCUMENTATION_URL=%s is rejected, because paths are appended to the URL", (url) => {
  expect(problemsOf({ DOCUMENTATION_URL: url })).toEqual([
    "DOCUMENTATION_URL takes a URL without a user name, a query or a fragment, because paths are appended to it",
  ]);
});

test("the URL of the documentation is DOCUMENTATION_URL, or the path PUBLIC_BASE_PATH without it", () => {
  expect(readConfig({}).documentationUrl).toBe("");
  const given = { PUBLIC_BASE_PATH: "/collections" };
  expect(readConfig(given).documentationUrl).toBe("/collections");
  const url = "https://docs.lender.example/collections";
  expect(readConfig({ ...given, DOCUMENTATION_URL: `${url}/` }).documentationUrl).toBe(url);
});

test("LEDGER_ANCHOR accepts a file: URL, and an http: URL with a private address", () => {
  expect(readConfig({}).ledgerAnchor).toBeUndefined();
  const path = { kind: "file", path: "/var/lib/anchors.jsonl" };
  expect(readConfig({ LEDGER_ANCHOR: "file:/var/lib/anchors.jsonl" }).ledgerAnchor).toEqual(path);
  expect(readConfig({ LEDGER_ANCHOR: "file:///var/lib/anchors.jsonl" }).ledgerAnchor).toEqual(path);
  expect(readConfig({ LEDGER_ANCHOR: "file:/my%20disk/%23%3F.jsonl" }).ledgerAnchor).toEqual({
    kind: "file",
    path: "/my disk/#?.jsonl",
  });
  const url = "http://10.0.0.7:9000/anchors?sig=1";
  expect(readConfig({ LEDGER_ANCHOR: url, LEDGER_ANCHOR_HEADER: "Authorization: Bearer x" })).toMatchObject({
    ledgerAnchor: { kind: "address", url, headers: { Authorization: "Bearer x" } },
    ledgerAnchorIntervalMs: 300_000,
  });
  expect(readConfig({ LEDGER_ANCHOR_INTERVAL: "576h" }).ledgerAnchorIntervalMs).toBeLessThan(2 ** 31);
});

test("RATE_LIMITS with an unknown endpoint is rejected with the list of endpoints", () => {
  expect(problemsOf({ RATE_LIMITS: "confrm=5" })).toEqual([
    expect.stringMatching(/^RATE_LIMITS names "confrm", which is not a limit; the limits are confirm, get-case, /),
  ]);
});

test("a direct URL with pgbouncer=true is rejected with the advice to give another address", () => {
  const [url, direct] = ["postgres://app@pooler/collections?pgbouncer=true", "postgres://app@db/collections"];
  const problem = "leads to a pooler (pgbouncer=true): give it an address that bypasses the pooler";
  const given = { DATABASE_URL: url, DATABASE_DIRECT_URL: direct };
  expect(problemsOf({ ...given, DATABASE_DIRECT_URL: url })).toEqual([`DATABASE_DIRECT_URL ${problem}`]);
  expect(problemsOf({ ...given, DATABASE_MIGRATION_URL: url })).toEqual([`DATABASE_MIGRATION_URL ${problem}`]);
});

test("all wrong settings are reported at once, one per line", () => {
  const env = Object.fromEntries(mistakes);
  const problems = problemsOf(env);
  expect(problems).toHaveLength(Object.keys(env).length);
  expect(() => readConfig(env)).toThrow(["The settings are not usable:", ...problems].join("\n  "));
});

test("OTP_WHATSAPP_PHONE_NUMBER_ID and OTP_WHATSAPP_TOKEN require each other, and can be set beside the SMS gateway's settings", () => {
  const [id, token] = [{ OTP_WHATSAPP_PHONE_NUMBER_ID: "123" }, { OTP_WHATSAPP_TOKEN: "EAAG" }];
  expect(problemsOf(id)).toEqual(["OTP_WHATSAPP_TOKEN is required with OTP_WHATSAPP_PHONE_NUMBER_ID"]);
  expect(problemsOf(token)).toEqual(["OTP_WHATSAPP_PHONE_NUMBER_ID is required with OTP_WHATSAPP_TOKEN"]);
  const sms = { OTP_SMS_URL: "https://sms.example/send", OTP_SMS_HEADER: "Authorization: Key x" };
  const read = readConfig({ ...id, ...token, OTP_WHATSAPP_TEMPLATE: "code:hi_IN", ...sms, OTP_SMS_TEXT: "{code}!" });
  expect(read.otp).toEqual({
    whatsapp: { phoneNumberId: "123", token: "EAAG", template: "code", language: "hi_IN" },
    sms: {
      url: "https://sms.example/send",
      headers: { Authorization: "Key x" },
      body: '{"to":"{to}","text":"{text}"}',
      text: "{code}!",
    },
  });
  expect(readConfig({}).otp).toEqual({ whatsapp: undefined, sms: undefined });
});

test("an empty setting counts as absent", () => {
  const empty = Object.fromEntries(mistakes.map(([name]) => [name, ""]));
  expect(readConfig(empty)).toEqual(readConfig({}));
});

test("the defaults of all settings make a local sandbox", () => {
  expect(readConfig({})).toMatchObject({
    databaseUrl: undefined,
    masterKey: undefined,
    port: 3000,
    host: "127.0.0.1",
    role: "all",
    environment: "sandbox",
    webhookLadder: [0, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000],
    webhookTimeoutMs: 10_000,
    webhookSuspendAfter: 20,
    webhookSuspendMinDurationMs: 60_000,
    webhookProbeIntervalMs: 900_000,
    databaseConnectionTimeoutMs: undefined,
    databaseAnswerTimeoutMs: 12_000,
    shutdownDelayMs: 0,
    shutdownTimeoutMs: 15_000,
    keepAliveTimeoutMs: 75_000,
    mintTimeoutMs: 10_000,
    rateLimits: { confirm: 6_000, import: 60 },
    trustProxy: [],
    smtpUrl: undefined,
    logLevel: "info",
  });
});

test("valid settings are read", () => {
  const read = readConfig({
    DATABASE_URL: "postgres://app@pooler/collections",
    DATABASE_DIRECT_URL: "postgresql://app@db/collections",
    PORT: "0",
    MASTER_KEY: "AB".repeat(32),
    PUBLIC_BASE_PATH: "/collections/v1",
    WEBHOOK_LADDER: "0s,100ms",
    MINT_TIMEOUT: "500ms",
    RATE_LIMITS: "confirm=60000, import=5",
    TRUST_PROXY: "loopback, 10.0.0.0/8,2001:db8::/32",
    WHATSAPP_BASE_URL: "http://127.0.0.1:9/",
  });
  expect(read).toMatchObject({
    databaseMigrationUrl: "postgresql://app@db/collections",
    port: 0,
    masterKey: "ab".repeat(32),
    publicBasePath: "/collections/v1",
    webhookLadder: [0, 100],
    mintTimeoutMs: 500,
    rateLimits: { confirm: 60_000, import: 5, health: 60 },
    trustProxy: ["loopback", "10.0.0.0/8", "2001:db8::/32"],
    whatsappBaseUrl: "http://127.0.0.1:9",
  });
  expect(readConfig({ RATE_LIMITS: "off" }).rateLimits).toBe("off");
});

test.each([
  ["500ms", 500],
  ["2s", 2_000],
  ["15m", 900_000],
  ["6h", 21_600_000],
  ["720h", 2_592_000_000],
  ["721h", undefined],
  ["0ms", 0],
  ["1d", undefined],
  ["1.5s", undefined],
  ["-1s", undefined],
  ["2S", undefined],
  [" 2s", undefined],
  ["s", undefined],
])("parseDuration(%j) is %s", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test("processes that start together in a new working copy share one development master key, in a file of mode 600", async () => {
  const dataDir = join(mkdtempSync(join(tmpdir(), "collections-data-")), ".data");
  afterFile(() => rmSync(join(dataDir, ".."), { recursive: true }));
  const keys = await Promise.all(Array.from({ length: 20 }, () => developmentMasterKey(dataDir)));
  expect(new Set(keys)).toEqual(new Set([await developmentMasterKey(dataDir)]));
  expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(readdirSync(dataDir)).toEqual(["master-key"]);
  expect(statSync(join(dataDir, "master-key")).mode & 0o777).toBe(0o600);
});

test.each([
  ["sandbox", true],
  ["sandbox-acme", true],
  ["live", false],
  ["prod", false],
  ["live-eu", false],
  ["sandboxes", false],
])("the environment %s gets the setting isSandbox=%s", (environment, isSandbox) => {
  const given = { DATABASE_URL: "postgres://db/x", MASTER_KEY: "a".repeat(64), ENVIRONMENT: environment };
  expect(readConfig(given)).toMatchObject({ environment, isSandbox });
});

describe("the settings of a production environment", () => {
  const missing = ["DATABASE_URL", "MASTER_KEY"].map(
    (name) => `${name} is required where ENVIRONMENT is not a sandbox`,
  );

  test("must contain DATABASE_URL and MASTER_KEY", () => {
    expect(problemsOf({ ENVIRONMENT: "live" })).toEqual(missing);
    expect(problemsOf({ ENVIRONMENT: "live", MASTER_KEY: "" })).toEqual(missing);
    expect(problemsOf({ ENVIRONMENT: "live", DATABASE_URL: "postgres://db/x" })).toEqual(missing.slice(1));
    expect(problemsOf({ ENVIRONMENT: "live", DATABASE_URL: "db", PORT: "x" })).toHaveLength(3);
  });

  test("make the service exit with 2 and name on stderr what is missing", async () => {
    expect(await runService({ ENVIRONMENT: "live" })).toEqual({
      code: 2,
      stdout: "",
      stderr: `${["The settings are not usable:", ...missing].join("\n  ")}\n`,
    });
  });
});
