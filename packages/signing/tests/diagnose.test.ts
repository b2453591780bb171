import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { diagnose, type RequestToDiagnose, sign, SIGNATURE_CAUSES, type SignatureCause, verify } from "../src/index.ts";
import { HOST, type Mistaken, NOW_MS, OLDER_SECRET, SECRET, SECRETS, SENT, sentBy, TIMESTAMP } from "./wrong-client.ts";
import { MISTAKES } from "./mistakes.ts";

function namedFor(request: RequestToDiagnose): SignatureCause[] {
  const { diagnosis } = diagnose(request, SECRETS, NOW_MS);
  expect(diagnosis.filter(({ certain }) => !certain)).toEqual([]);
  return diagnosis.map(({ cause }) => cause);
}

test("MISTAKES has more than forty mistakes, and covers all causes except three", () => {
  expect(MISTAKES.length).toBeGreaterThan(40);
  const made = new Set(MISTAKES.map(({ cause }) => cause));
  const notMade = SIGNATURE_CAUSES.filter((cause) => !made.has(cause));
  expect(notMade).toEqual(["TIMESTAMP_IN_NANOSECONDS", "SECRET_EMPTY", "SIGNATURE_NOT_RECOGNISED"]);
});

test.each(MISTAKES)("the mistake “$name” is reported as $cause", ({ client, sends, cause }) => {
  const request = sentBy(client, sends);
  expect(verify({ ...request, secret: SECRET })).toBe(false);
  expect(namedFor(request)).toEqual([cause]);
});

describe("two mistakes in one request", () => {
  test.each([
    ["the query string", "the method in lower case"],
    ["the path decoded", "an older secret"],
    ["the path without a proxy's prefix", "a newline after the body"],
    ["the whole URL", "seconds signed, milliseconds sent"],
    ["a slash after the path", "base64"],
    ["the method in lower case", "CRLF between the parts"],
    ["the clock read twice, for signing and for sending", "keys sorted at every depth"],
    ["{} signed for an empty body", "the query string"],
    ["undefined signed for an empty body", "a secret with its newline"],
    ["an indented body parsed and serialised again", "a secret decoded from base64 by Node"],
    ["an indented body signed as Python serialises it", "seconds signed, milliseconds sent"],
    ["a compact body signed with indentation", "sha256= before the signature"],
    ["slashes escaped", "a secret's digits decoded from hex"],
    ["non-ASCII letters escaped", "the path encoded in lower case"],
    ["a byte order mark", "a plain hash of secret and message"],
    ["CRLF after the body", "a backslash and an n between the parts"],
    ["a secret in quotes", "host and path"],
    ["the key id as secret", "an ISO date"],
    ["a secret with CRLF", "SHA-1"],
    ["SHA-512", "base64 for URLs"],
    ["key and message swapped", "the hex digits encoded in base64"],
    ["a plain hash", "dashes between the bytes, as .NET does"],
    ["[object Object]", "nothing between the parts"],
    ["a body that is sent and not signed", "a secret without its prefix"],
  ])("both are reported: %s, and %s", (one, other) => {
    const [first, second] = [mistake(one), mistake(other)];
    const request = sentBy({ ...first.client, ...second.client }, { ...first.sends, ...second.sends });
    expect(namedFor(request).toSorted()).toEqual([first.cause, second.cause].toSorted());
  });

  test.each<[string, Mistaken["client"], SignatureCause[], string?]>([
    [
      "Python's json.dumps: spaces and \\u escapes",
      { body: () => '{"a": "\\u0906", "b": 1}' },
      ["BODY_NON_ASCII_ESCAPED", "BODY_SPACED_SEPARATORS"],
      '{"a":"आ","b":1}',
    ],
    [
      "PHP's json_encode: \\/ and \\u escapes",
      { body: () => '{"a":"\\u0906","b":"\\/x"}' },
      ["BODY_SLASHES_ESCAPED", "BODY_NON_ASCII_ESCAPED"],
      '{"a":"आ","b":"/x"}',
    ],
    [
      "Python's sort_keys: spaces and order",
      { body: () => '{"a": [1, 2], "b": 1}' },
      ["BODY_SPACED_SEPARATORS", "BODY_SORTED_KEYS"],
      '{"b":1,"a":[1,2]}',
    ],
    [
      ".NET on Windows: indented, with CRLF",
      { body: () => '{\r\n  "a": 1,\r\n  "b": []\r\n}' },
      ["BODY_CRLF", "BODY_PRETTY"],
      '{"a":1,"b":[]}',
    ],
    [
      "an indented body made compact, with the newline of echo",
      { body: () => '{"a":1}\n' },
      ["BODY_TRAILING_NEWLINE", "BODY_COMPACT"],
      '{ "a": 1 }',
    ],
    [
      "the URL with its query",
      { path: (target) => `https://${HOST}${target}` },
      ["QUERY_STRING_SIGNED", "PATH_WITH_HOST"],
    ],
    [
      "an older secret with its newline",
      { key: () => `${OLDER_SECRET}\n` },
      ["SECRET_WITH_NEWLINE", "SECRET_OF_ANOTHER_KEY"],
    ],
    [
      "dots between the parts, and none at the end",
      { body: () => "", join: (parts) => Buffer.from(parts.slice(0, 3).join(".")) },
      ["LAST_NEWLINE_MISSING", "SEPARATORS_DOT"],
      "",
    ],
    [
      "the hash of a body made compact",
      { body: () => createHash("sha256").update('{"a":1}').digest("hex") },
      ["BODY_COMPACT", "BODY_HASHED"],
      '{ "a": 1 }',
    ],
    [
      "sha256= before base64",
      { write: (digest) => `sha256=${digest.toString("base64")}` },
      ["SIGNATURE_WITH_PREFIX", "SIGNATURE_IN_BASE64"],
    ],
  ])("both are reported: %s", (_, client, causes, body = SENT.body) => {
    expect(namedFor(sentBy(client, { body }))).toEqual(causes);
  });

  test("both are reported, for every 31st pair of mistakes", () => {
    const pairs = MISTAKES.flatMap((first, index) => MISTAKES.slice(index + 1).map((second) => ({ first, second })));
    const tried = pairs.filter(canMeet).filter((_, index) => index % 31 === 0);
    expect(tried.length).toBeGreaterThan(60);
    for (const { first, second } of tried) {
      const request = sentBy({ ...first.client, ...second.client }, { ...first.sends, ...second.sends });
      const named = namedFor(request);
      expect
        .soft(named.toSorted(), `${first.name}, and ${second.name}`)
        .toEqual([first.cause, second.cause].toSorted());
    }
  });
});

describe("a timestamp in another unit that is both signed and sent", () => {
  test.each<[SignatureCause, string]>([
    ["TIMESTAMP_IN_SECONDS", "1795167667"],
    ["TIMESTAMP_IN_MICROSECONDS", "1795167667123000"],
    ["TIMESTAMP_IN_NANOSECONDS", "1795167667123000000"],
  ])("is reported as %s, although the signature matches", (cause, timestamp) => {
    const request = { ...sentBy({}, { timestamp }), timestamp };
    const { signatureMatches, diagnosis, clock } = diagnose(request, SECRETS, NOW_MS);
    expect(signatureMatches).toBe(true);
    expect(clock.withinTolerance).toBe(false);
    const ms = cause === "TIMESTAMP_IN_SECONDS" ? "1795167667000" : TIMESTAMP;
    expect(diagnosis).toEqual([{ cause, certain: true, fix: `Sign and send milliseconds: ${ms}.` }]);
  });

  test("is reported in addition to another mistake", () => {
    const request = sentBy(mistake("the method in lower case").client, { timestamp: "1795167667" });
    expect(namedFor(request)).toEqual(["TIMESTAMP_IN_SECONDS", "METHOD_IN_LOWER_CASE"]);
  });
});

test("a correct signature matches and has no findings", () => {
  const request = { ...sentBy({}), timestamp: TIMESTAMP };
  const { search: _, ...answer } = diagnose(request, SECRETS, NOW_MS);
  expect(answer).toEqual({
    signatureMatches: true,
    canonicalString: `POST\n/api/v1/partner/cases/MUM%2F2023%2F00123/payments/confirm\n${TIMESTAMP}\n${SENT.body}`,
    canonicalSha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    bodyBytes: Buffer.byteLength(SENT.body),
    bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    clock: { serverTime: "2026-11-20T09:41:07.336Z", skewMs: 213, withinTolerance: true },
    diagnosis: [],
  });
  expect(diagnose({ ...request, signature: request.signature.toUpperCase() }, SECRETS, NOW_MS).diagnosis).toEqual([]);
});

test("every golden vector matches and has no findings", () => {
  const { vectors } = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf8")) as {
    vectors: (RequestToDiagnose & {
      secret: string;
      canonicalSha256: string;
      bodyBase64?: string;
      bodyRepeat?: { text: string; times: number };
    })[];
  };
  for (const { bodyBase64, bodyRepeat, ...vector } of vectors) {
    const text = bodyRepeat ? bodyRepeat.text.repeat(bodyRepeat.times) : vector.body;
    const body = bodyBase64 === undefined ? text : Buffer.from(bodyBase64, "base64");
    const { signatureMatches, diagnosis, canonicalSha256 } = diagnose({ ...vector, body }, vector, NOW_MS);
    expect({ signatureMatches, diagnosis, canonicalSha256 }).toEqual({
      signatureMatches: true,
      diagnosis: [],
      canonicalSha256: vector.canonicalSha256,
    });
  }
});

describe("the search of diagnose for mistakes", () => {
  test("tries the timestamp that the client says it has signed", () => {
    const claimed = String(Number(TIMESTAMP) - 86_400_000);
    const request = { ...sentBy({ timestamp: () => claimed, method: () => "post" }), signedTimestamp: claimed };
    expect(namedFor(request)).toEqual(["TIMESTAMP_DIFFERS_FROM_HEADER", "METHOD_IN_LOWER_CASE"]);
  });

  test("cannot find PATH_WITH_HOST if the host is unknown", () => {
    const { host: _, ...request } = sentBy(mistake("the whole URL").client);
    expect(diagnose(request, SECRETS, NOW_MS).diagnosis.filter(({ certain }) => certain)).toEqual([]);
  });

  test("reports a signature made with an empty secret as SECRET_EMPTY if the lender's secret is hexadecimal", () => {
    const secret = "ab".repeat(32);
    const { diagnosis } = diagnose(sentBy({ key: () => "" }), { secret }, NOW_MS);
    expect(diagnosis).toMatchObject([{ cause: "SECRET_EMPTY", certain: true }]);
  });
});

describe("diagnose for a signature that no known mistake reproduces", () => {
  const unknown = sign({ ...sentBy({}), secret: "sk_sandbox_of_somebody_else" });
  test.each<[string, Partial<RequestToDiagnose>, SignatureCause[]]>([
    ["a request without oddities", { method: "GET", path: "/api/v1/partner/health", body: "" }, []],
    [
      "a signature in base64",
      { signature: Buffer.from(unknown, "hex").toString("base64"), body: "" },
      ["SIGNATURE_IN_BASE64"],
    ],
    ["a signature with a prefix", { signature: `sha256=${unknown}`, body: "" }, ["SIGNATURE_WITH_PREFIX"]],
    ["a signature of 40 digits", { signature: unknown.slice(24), body: "" }, ["ALGORITHM_SHA1"]],
    ["a signature of 128 digits", { signature: unknown + unknown, body: "" }, ["ALGORITHM_SHA512"]],
    ["a signature of 63 digits", { signature: unknown.slice(1), body: "" }, ["SIGNATURE_NOT_RECOGNISED"]],
    ["a text that is no signature", { signature: "x".repeat(100_000), body: "" }, ["SIGNATURE_NOT_RECOGNISED"]],
    ["a timestamp in seconds", { timestamp: "1795167667", body: "" }, ["TIMESTAMP_IN_SECONDS"]],
    ["a date as the timestamp", { timestamp: "2026-11-20", body: "" }, ["TIMESTAMP_AS_DATE"]],
    ["a path with a query string", { path: "/x?y=1", body: "" }, ["QUERY_STRING_SIGNED"]],
    ["an encoded path", { path: "/x%2Fy", body: "" }, ["PATH_DECODED"]],
    ["a body with a byte order mark", { body: "\uFEFF{}" }, ["BODY_WITHOUT_BOM"]],
    ["a body with CRLF", { body: "{\r\n}" }, ["BODY_LF"]],
    ["a body with a newline at its end", { body: "{}\n" }, ["BODY_WITHOUT_TRAILING_NEWLINE"]],
    ["a compact body", { body: '{"a":1}' }, ["BODY_SPACED_SEPARATORS"]],
    ["a body that is not compact", { body: '{ "a": 1 }' }, ["BODY_COMPACT"]],
    ["a body that is not UTF-8", { body: Uint8Array.of(0xff, 0xfe) }, []],
  ])("lists the possible mistakes of %s", (_, change, causes) => {
    const request = { method: "POST", path: "/x", timestamp: TIMESTAMP, body: "", signature: unknown, ...change };
    const { diagnosis } = diagnose(request, SECRETS, NOW_MS);
    expect(diagnosis.map(({ cause }) => cause)).toEqual([...causes, "SECRET_OF_ANOTHER_KEY"]);
    expect(diagnosis.every(({ certain, fix }) => !certain && /^.{10,200}\.$/.test(fix))).toBe(true);
  });
});

function mistake(name: string): Mistaken {
  const found = MISTAKES.find((each) => each.name === name);
  if (!found) throw new Error(`No mistake is called "${name}".`);
  return found;
}

/** Returns whether a client can make both mistakes together, and no single mistake explains the result. */
function canMeet({ first, second }: { first: Mistaken; second: Mistaken }): boolean {
  if (Object.keys(first.client).some((step) => step in second.client)) return false;
  const sends = [first.sends ?? {}, second.sends ?? {}] as const;
  if (Object.keys(sends[0]).some((part) => part in sends[1])) return false;
  if ([first, second].some(isFarInTime)) return false;
  // Two mistakes that each need their own body, or their own path, cannot be made together.
  if (changes("body", first, second) || changes("body", second, first)) return false;
  if (changes("path", first, second) || changes("path", second, first)) return false;
  const causes = [first.cause, second.cause];
  return !(causes.includes("PLAIN_HASH") && causes.some((cause) => cause.startsWith("SECRET_")));
}

function changes(part: "body" | "path", one: Mistaken, other: Mistaken): boolean {
  return one.client[part] !== undefined && other.sends?.[part === "body" ? "body" : "target"] !== undefined;
}

/**
 * Returns whether the signed and the sent timestamp differ by more than a few milliseconds. `diagnose` does not find
 * such a mistake together with a second mistake.
 */
function isFarInTime({ name }: Mistaken): boolean {
  return [
    "the sent timestamp cut to whole seconds",
    "a retry signed with the timestamp of the first try",
    "milliseconds signed, seconds sent",
  ].includes(name);
}
