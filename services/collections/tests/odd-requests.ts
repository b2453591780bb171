import { sign } from "@collections/lender-twin";
import { type Members, oddBytes, oddMembers, oddValue, pick, type Random, textOf } from "./odd-json.ts";
import { oddPath, oddQuery } from "./odd-paths.ts";

/** A request as it goes over the wire. */
export interface OddRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
  /** All of it. */
  readonly bytes: Buffer;
  /** It has one answer at least, without more bytes: it is whole, and its headers say so. */
  readonly isWhole: boolean;
}

/** A key, and what its lender has: names that are known are refused later than others. */
export interface Known {
  readonly keyId: string;
  readonly secret: string;
  readonly loans: readonly string[];
  readonly eventIds: readonly string[];
  readonly replayIds: readonly string[];
}

const PARTNER = "/api/v1/partner";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "QUERY"];

const HEADERS = [
  "X-Odd: \u0080\u00ff",
  `X-Long: ${"x".repeat(9_000)}`,
  `X-Long: ${"x".repeat(20_000)}`,
  ...Array.from({ length: 3 }, (_, index) => `X-Many-${index}: 1\r\n`.repeat(150).trimEnd()),
  "X-Folded: a\r\n b",
  "X Bad: 1",
  "NoColon",
  ": nameless",
  "X-Nul: a\u0000b",
  "Content-Type: text/plain",
  "Content-Type: application/json; charset=utf-16",
  "Content-Type: application/json, text/html",
  "Content-Encoding: gzip",
  "Content-Encoding: identity",
  "Content-Length: 0",
  "Content-Length: -5",
  "Content-Length: 0x10",
  "Content-Length: 99999999999999999999",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: identity",
  "Expect: 100-continue",
  "Expect: nothing",
  "Upgrade: websocket\r\nConnection: Upgrade",
  "Upgrade: h2c",
  'If-None-Match: "1"',
  "If-None-Match: *",
  `If-None-Match: ${'"x",'.repeat(500)}`,
  "Range: bytes=0-1",
  "Host: other",
  "Host: [::1",
  "X-Forwarded-For: not an address, 1.2.3.4.5",
  "X-Forwarded-Host: \u0001",
  "Cookie: a=%zz",
  "Authorization: Basic Og==",
  "Authorization: Bearer lk_nobody",
  `Authorization: Bearer ${"x".repeat(5_000)}`,
  "X-Service-Timestamp: 1795167667",
  "X-Service-Timestamp: 1e12",
  `X-Service-Timestamp: ${"9".repeat(400)}`,
  "X-Service-Timestamp: \u0660\u0661",
  "X-Service-Signature: 00",
  `X-Service-Signature: ${"g".repeat(64)}`,
  `X-Service-Signature: ${"é".repeat(32)}`,
  "X-HTTP-Method-Override: DELETE",
  "Connection: keep-alive, X-Service-Signature",
];

const HARMLESS = /^(X-Odd|X-Long: x{9000}$|X-Many|Content-Type|Content-Encoding|Expect|If-|Range|X-F|Cookie|X-HTTP)/;

/** A request of some lender, odd in one way or many; nine of ten are signed as they go out, and are read. */
export function oddRequest(random: Random, known: Known): OddRequest {
  if (random() < 0.04) return noise(random);
  const target = targetOf(random, known);
  const body = target.method === "GET" && random() < 0.8 ? Buffer.alloc(0) : oddBytes(random, target.body);
  const method = random() < 0.06 ? pick(random, METHODS) : target.method;
  const path = random() < 0.1 ? oddPath(random, target.path) : target.path + (random() < 0.1 ? oddQuery(random) : "");
  const odd = Array.from({ length: random() < 0.2 ? 1 + Math.floor(random() * 2) : 0 }, () => pick(random, HEADERS));
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: service",
    ...signedHeaders(random, known, { method, path, body }),
    ...(body.length > 0 ? ["Content-Type: application/json"] : []),
    `Content-Length: ${body.length}`,
    ...odd,
    "Connection: close",
  ];
  const isWhole = odd.every((line) => HARMLESS.test(line)) && /^[!-~]+$/.test(path) && method !== "CONNECT";
  return {
    method,
    path,
    body,
    bytes: Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]),
    isWhole,
  };
}

interface Target {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string;
}

function targetOf(random: Random, known: Known): Target {
  const loan = encodeURIComponent(pick(random, known.loans));
  const event = `${PARTNER}/webhooks/deliveries/${pick(random, known.eventIds)}`;
  const targets: Target[] = [
    { method: "GET", path: `${PARTNER}/health`, body: "" },
    { method: "GET", path: `${PARTNER}/cases/${loan}`, body: "" },
    { method: "POST", path: `${PARTNER}/cases/${loan}/payments/confirm`, body: confirmation(random) },
    { method: "POST", path: `${PARTNER}/cases/${loan}/payments/confirm`, body: confirmation(random) },
    { method: "POST", path: `${PARTNER}/cases/${loan}/payments/confirm`, body: confirmation(random) },
    { method: "POST", path: `${PARTNER}/cases`, body: importBody(random, known) },
    { method: "POST", path: `${PARTNER}/cases`, body: importBody(random, known) },
    { method: "POST", path: `${PARTNER}/cases`, body: importBody(random, known) },
    { method: "POST", path: `${PARTNER}/webhooks/test`, body: textOf(oddMembers(random, [["kind", '"pong"']])) },
    { method: "GET", path: `${PARTNER}/webhooks/deliveries`, body: "" },
    { method: "GET", path: event, body: "" },
    { method: "POST", path: `${event}/replay`, body: oddValue(random) },
    { method: "POST", path: `${PARTNER}/webhooks/deliveries/replay`, body: textOf(oddMembers(random, REPLAY)) },
    { method: "GET", path: `${PARTNER}/webhooks/replays/${pick(random, known.replayIds)}`, body: "" },
    { method: "POST", path: `${PARTNER}/debug/signature`, body: textOf(oddMembers(random, DEBUG)) },
  ];
  const target = pick(random, targets);
  return random() < 0.03 && target.method === "POST" ? { ...target, body: oddValue(random) } : target;
}

const REPLAY: Members = [
  ["loan", '"LN-1"'],
  ["kind", '"case.created"'],
  ["since", '"2020-01-01T00:00:00Z"'],
  ["ratePerSecond", "50"],
  ["dryRun", "true"],
];

const DEBUG: Members = [
  ["method", '"POST"'],
  ["path", `"${PARTNER}/cases"`],
  ["timestamp", '"1795167667000"'],
  ["body", '"{}"'],
  ["signature", '"00"'],
];

function confirmation(random: Random): string {
  const reference = JSON.stringify(`pay_${Math.floor(random() * 1e9)}`);
  return textOf(
    oddMembers(random, [
      ["amount", "0.01"],
      ["reference", reference],
      ["paidAt", '"2026-11-20T09:40:55Z"'],
      ["mode", '"upi"'],
      ["linkId", '"plink_1"'],
    ]),
  );
}

function importBody(random: Random, { loans }: Known): string {
  const rows = Array.from({ length: Math.floor(random() * 4) }, () =>
    random() < 0.05 ? oddValue(random) : textOf(oddMembers(random, rowOf(random, loans))),
  );
  const members: Members = [
    ["rows", `[${rows.join(",")}]`],
    ["dryRun", String(random() < 0.3)],
    ["atomic", String(random() < 0.3)],
  ];
  return textOf(random() < 0.3 ? oddMembers(random, members) : members);
}

function rowOf(random: Random, loans: readonly string[]): Members {
  const loan = random() < 0.5 ? pick(random, loans) : `LN-${Math.floor(random() * 1e9)}`;
  const required: Members = [
    ["sourceLoanNumber", JSON.stringify(loan)],
    ["borrowerName", '"Ravi Kumar"'],
    ["borrowerPhone", '"+919800000001"'],
    ["outstandingAmount", String(Math.floor(random() * 1e5))],
  ];
  const optional: Members = [
    ["outstandingAsOf", '"2026-11-20T09:40:55Z"'],
    ["currency", '"INR"'],
    ["nextDueDate", '"2026-12-01"'],
    ["dpd", "31"],
    ["tags", '["a","b"]'],
    ["alternatePhones", '["+919800000002"]'],
    ["borrowerEmail", '"ravi@example.com"'],
    ["addresses", '[{"line1":"1 MG Road","latitude":12.9,"longitude":77.6}]'],
    ["consent", '{"whatsapp":true}'],
    ["metadata", '{"a":"b"}'],
    ["action", '"upsert"'],
    ["reason", '"asked"'],
  ];
  return [...required, ...optional.filter(() => random() < 0.25)];
}

function signedHeaders(
  random: Random,
  { keyId, secret }: Known,
  { method, path, body }: { method: string; path: string; body: Buffer },
): string[] {
  const timestamp = String(Date.now());
  // The path as it goes out, byte by byte, ends before the query.
  const signedPath = path.split("?", 1)[0]!;
  const signature = sign(secret, { method, path: signedPath, timestamp, body });
  const headers = [
    `Authorization: Bearer ${keyId}`,
    `X-Service-Timestamp: ${timestamp}`,
    `X-Service-Signature: ${random() < 0.05 ? signature.replace(/./, "x") : signature}`,
  ];
  return random() < 0.05 ? headers.toSpliced(Math.floor(random() * 3), 1) : headers;
}

/** No request at all: random bytes, or the beginning of something. */
function noise(random: Random): OddRequest {
  const bytes = Buffer.from(Array.from({ length: 1 + Math.floor(random() * 200) }, () => Math.floor(random() * 256)));
  const begun = pick(random, [
    "",
    "GET ",
    "POST / HTTP/1.1\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\n",
    "\r\n\r\n",
  ]);
  return { method: "", path: "", body: bytes, bytes: Buffer.concat([Buffer.from(begun), bytes]), isWhole: false };
}
