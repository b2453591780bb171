import { transaction } from "@collections/database";
import { createKey, lenderByCode, openDebugger, revokeKey, suspendLender } from "@collections/lenders";
import type { Answer } from "@collections/lender-twin";
import { diagnose, type Finding, SIGNATURE_CAUSES } from "@collections/signing";
import { createHash, createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

const DEBUG = "/api/v1/partner/debug/signature";
const PATH = "/api/v1/partner/cases/MUM%2F2023/payments/confirm";
const BODY = '{"reference":"pay_1","amount":2500,"note":"आशा/x"}';

let service: TestService;
let lender: Lender;
let secret: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  secret = identityOf(lender).hmacSecret;
});

/** Calls the signature debugger with only the id of an API key, without a signature or timestamp. */
function ask(body: unknown, asking: Lender = lender): Promise<Answer> {
  return asking.call("POST", DEBUG, body as object, { signature: null, headers: { "X-Service-Timestamp": null } });
}

function findings(answer: Answer): Finding[] {
  return answer.body["diagnosis"] as Finding[];
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/**
 * Wrong ways to sign, keyed by the cause to report. Each function gets the timestamp and the lender, and returns the
 * wrong signature.
 */
const CLIENTS: Record<string, (timestamp: string, lender: Lender) => string> = {
  METHOD_IN_LOWER_CASE: (timestamp) => hmac(secret, `post\n${PATH}\n${timestamp}\n${BODY}`).toString("hex"),
  QUERY_STRING_SIGNED: (timestamp) => hmac(secret, `POST\n${PATH}?a=1\n${timestamp}\n${BODY}`).toString("hex"),
  PATH_DECODED: (timestamp) => hmac(secret, `POST\n${decodeURIComponent(PATH)}\n${timestamp}\n${BODY}`).toString("hex"),
  PATH_WITH_HOST: (timestamp) => hmac(secret, `POST\n${service.url}${PATH}\n${timestamp}\n${BODY}`).toString("hex"),
  TIMESTAMP_IN_SECONDS: (timestamp) =>
    hmac(secret, `POST\n${PATH}\n${timestamp.slice(0, 10)}\n${BODY}`).toString("hex"),
  BODY_SORTED_KEYS: (timestamp) =>
    hmac(secret, `POST\n${PATH}\n${timestamp}\n{"amount":2500,"note":"आशा/x","reference":"pay_1"}`).toString("hex"),
  BODY_TRAILING_NEWLINE: (timestamp) => hmac(secret, `POST\n${PATH}\n${timestamp}\n${BODY}\n`).toString("hex"),
  SECRET_WITH_NEWLINE: (timestamp) => hmac(`${secret}\n`, `POST\n${PATH}\n${timestamp}\n${BODY}`).toString("hex"),
  SECRET_IS_KEY_ID: (timestamp, caller) =>
    hmac(identityOf(caller).apiKeyId, `POST\n${PATH}\n${timestamp}\n${BODY}`).toString("hex"),
  SIGNATURE_IN_BASE64: (timestamp) => hmac(secret, `POST\n${PATH}\n${timestamp}\n${BODY}`).toString("base64"),
  SEPARATORS_LITERAL: (timestamp) => hmac(secret, `POST\\n${PATH}\\n${timestamp}\\n${BODY}`).toString("hex"),
  PLAIN_HASH: (timestamp) => createHash("sha256").update(`POST\n${PATH}\n${timestamp}\n${BODY}`).digest("hex"),
};

describe("diagnosis of a wrong signature, by the debugger and in the 401 of a sandbox", () => {
  test.each(Object.keys(CLIENTS))("names %s as the certain cause", async (cause) => {
    const timestamp = String(Date.now());
    const signature = CLIENTS[cause]!(timestamp, lender);
    const debugged = await ask({ method: "POST", path: `${PATH}?a=1`, timestamp, body: BODY, signature });
    expect(debugged.status).toBe(200);
    expect(debugged.body).toMatchObject({ success: true, signatureMatches: false, searchComplete: true });
    expect(findings(debugged)).toMatchObject([{ cause, certain: true }]);

    const refused = await lender.call("POST", `${PATH}?a=1`, BODY, { timestamp, signature });
    expect(refused.body).toMatchObject({ code: "BAD_SIGNATURE", diagnosis: findings(debugged) });
    const { canonicalSha256, bodySha256 } = debugged.body;
    const known = new Set([signature, canonicalSha256, bodySha256]);
    for (const { rawBody } of [debugged, refused]) {
      expect((rawBody.match(/[0-9a-f]{40,}/gi) ?? []).filter((digest) => !known.has(digest))).toEqual([]);
    }
    expect(known).not.toContain(rightSignature(timestamp));
  });
});

test("the signature debugger returns the text to sign and the clock skew", async () => {
  const timestamp = String(Date.now());
  const signature = rightSignature(timestamp);
  const answer = await ask({ method: "post", path: PATH, timestamp: Number(timestamp), body: BODY, signature });
  const canonicalString = `POST\n${PATH}\n${timestamp}\n${BODY}`;
  expect(answer.body).toEqual({
    success: true,
    signatureMatches: true,
    canonicalString,
    canonicalSha256: createHash("sha256").update(canonicalString).digest("hex"),
    bodyBytes: Buffer.byteLength(BODY),
    bodySha256: createHash("sha256").update(BODY).digest("hex"),
    clock: {
      serverTime: expect.stringMatching(/^20.*Z$/) as string,
      skewMs: expect.any(Number) as number,
      withinTolerance: true,
    },
    diagnosis: [],
    searchComplete: true,
  });
});

test("the signature debugger reports a timestamp in seconds although the signature matches", async () => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const answer = await ask({ method: "POST", path: PATH, timestamp, body: BODY, signature: rightSignature(timestamp) });
  expect(answer.body).toMatchObject({
    signatureMatches: true,
    clock: { withinTolerance: false },
    diagnosis: [{ cause: "TIMESTAMP_IN_SECONDS", certain: true, fix: `Sign and send milliseconds: ${timestamp}000.` }],
  });
});

test("a diagnosis names the lender's key whose secret was used, even if that key is revoked", async () => {
  const rotated = await aLender(service);
  const { em, id } = await registered(rotated);
  const older = identityOf(rotated);
  const issued = await transaction(em, (tx) =>
    createKey(tx, service.app.vault, { lenderId: id, environment: "sandbox" }),
  );
  await transaction(em, (tx) => revokeKey(tx, { lenderId: id, keyId: older.apiKeyId, reason: "rotated" }));
  rotated.connect({ serviceUrl: service.url, ...issued });
  const refused = await rotated.call("GET", "/api/v1/partner/health", "", { hmacSecret: older.hmacSecret });
  expect(findings(refused)).toMatchObject([{ cause: "SECRET_OF_ANOTHER_KEY", certain: true }]);
  expect(findings(refused)[0]!.fix).toContain(older.apiKeyId);
});

test("the signature debugger accepts sent headers, a full URL and a body in base64", async () => {
  const [sent, signed] = ["1795167667123", "1795160000000"];
  const body = Buffer.from([0xff, 0x00, 0x80]);
  const path = "https://acme.example:8443/hooks/collections?x=1";
  const message = Buffer.concat([Buffer.from(`POST\nacme.example/hooks/collections\n${signed}\n`), body]);
  const answer = await ask({
    method: "POST",
    path,
    timestamp: signed,
    bodyBase64: body.toString("base64"),
    signature: createHmac("sha256", secret).update(message).digest("hex"),
    headers: { "x-service-TIMESTAMP": ` ${sent}`, "Content-Type": "application/json" },
  });
  expect(answer.body).toMatchObject({
    canonicalString: `POST\n/hooks/collections\n${sent}\n\uFFFD\u0000\uFFFD`,
    bodyBytes: 3,
  });
  expect(findings(answer).map(({ cause, certain }) => [cause, certain])).toEqual([
    ["TIMESTAMP_DIFFERS_FROM_HEADER", true],
    ["PATH_WITH_HOST", true],
  ]);
});

describe("outside a sandbox", () => {
  let live: TestService;
  let customer: Lender;
  beforeAll(async () => {
    live = await startTestService({ hasWorker: false, settings: { ENVIRONMENT: "live" } });
    customer = await aLender(live);
  });
  const request = { method: "GET", path: "/x", timestamp: "1795167667123", signature: "00" };

  test("the signature debugger is closed until an operator opens it for one API key, and closes again when the given time is over", async () => {
    const { em, id, keyId } = await registered(customer, live);
    expect((await ask({}, customer)).body).toMatchObject({ status: 403, code: "DEBUGGER_CLOSED" });
    await transaction(em, (tx) => openDebugger(tx, { lenderId: id, keyId, reason: "first deployment" }));
    await expect.poll(async () => (await ask(request, customer)).status).toBe(200);
    expect((await ask(request, await aLender(live))).status).toBe(403);
    await live.app.database.pool.query("update lenders.api_key set debug_until = now() where id = $1", [keyId]);
    await expect.poll(async () => (await ask(request, customer)).status).toBe(403);
  });

  test("the 401 for a wrong signature contains no canonical string and no diagnosis", async () => {
    const { body } = await customer.call("GET", "/api/v1/partner/health", "", { hmacSecret: "another" });
    expect(body).toMatchObject({ code: "BAD_SIGNATURE", bodyBytes: 0 });
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["canonicalString"]));
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["diagnosis"]));
  });
});

describe("a call of the signature debugger", () => {
  test("needs a known API key that is not revoked, but the key's lender may be suspended", async () => {
    const unsigned = { signature: null, headers: { "X-Service-Timestamp": null } };
    const without = await lender.call("POST", DEBUG, {}, { ...unsigned, authorization: null });
    const unknown = await lender.call("POST", DEBUG, {}, { ...unsigned, authorization: "Bearer lk_nobody" });
    const complete = { method: "GET", path: "/x", timestamp: "1795167667123", signature: "00" };
    const [revoked, suspended] = [await aLender(service), await aLender(service)];
    const [{ em, id, keyId }, other] = [await registered(revoked), await registered(suspended)];
    await transaction(em, (tx) => revokeKey(tx, { lenderId: id, keyId, reason: "leaked", evenIfLast: true }));
    await transaction(em, (tx) => suspendLender(tx, other.id, "asked for"));
    const answers = [without, unknown, await ask({}, revoked), await ask(complete, suspended)];
    expect(answers.map(({ status, body }) => [status, body["code"]])).toEqual([
      [401, "MISSING_AUTHORIZATION"],
      [401, "UNKNOWN_KEY"],
      [401, "KEY_REVOKED"],
      [200, undefined],
    ]);
  });

  test("does not count as a use of the API key", async () => {
    const fresh = await aLender(service);
    service.app.keyUses.take();
    const signature = hmac(identityOf(fresh).hmacSecret, "GET\n/x\n1795167667123\n").toString("hex");
    const { body } = await ask({ method: "GET", path: "/x", timestamp: "1795167667123", signature }, fresh);
    expect(body).toMatchObject({ signatureMatches: true });
    expect(service.app.keyUses.take()).toEqual([]);
  });

  test.each<[string, unknown, object]>([
    ["a body that is not JSON", "{", { status: 400, code: "MALFORMED_JSON" }],
    [
      "an empty object",
      {},
      {
        code: "VALIDATION_FAILED",
        errors: ["/method", "/path", "/timestamp", "/signature"].map((pointer) => ({ code: "REQUIRED", pointer })),
      },
    ],
    [
      "a body as an object",
      { ...aRequest(), body: { a: 1 } },
      { code: "WRONG_TYPE", detail: expect.stringContaining("exact text") as string },
    ],
    [
      "both body and bodyBase64",
      { ...aRequest(), body: "", bodyBase64: "" },
      { code: "VALIDATION_FAILED", errors: [{ pointer: "/bodyBase64" }] },
    ],
    [
      "a bodyBase64 that is not base64",
      { ...aRequest(), bodyBase64: "?" },
      { code: "WRONG_TYPE", errors: [{ pointer: "/bodyBase64" }] },
    ],
    [
      "a header whose value is a number",
      { ...aRequest(), headers: { Host: 1 } },
      { code: "WRONG_TYPE", errors: [{ pointer: "/headers/Host" }] },
    ],
    ["a signature of 2,000 characters", { ...aRequest(), signature: "0".repeat(2_000) }, { code: "TOO_LONG" }],
    [
      "more than 64 KiB",
      { ...aRequest(), body: "x".repeat(65_536) },
      { code: "PAYLOAD_TOO_LARGE", limitBytes: 65_536 },
    ],
  ])("with %s is rejected and says what to send", async (_, body, expected) => {
    expect((await ask(body)).body).toMatchObject(expected);
  });

  test("with a misspelt field gets a warning with the field's name", async () => {
    const { body } = await ask({ ...aRequest(), bodyBase46: "" });
    expect(body["warnings"]).toMatchObject([{ code: "UNKNOWN_FIELD", pointer: "/bodyBase46" }]);
  });

  test("is limited by API key and address, so that a stranger who knows the key's id cannot use up the owner's limit", async () => {
    const settings = { RATE_LIMITS: "debug-signature=3", TRUST_PROXY: "loopback" };
    const limited = await startTestService({ hasWorker: false, settings });
    const owner = await aLender(limited);
    const from = async (address: string, count: number) => {
      const headers = { "X-Service-Timestamp": null, "X-Forwarded-For": address };
      const call = () => owner.call("POST", DEBUG, aRequest(), { signature: null, headers });
      const answers = await Promise.all(Array.from({ length: count }, call));
      return answers.map(({ status }) => status).toSorted((a, b) => a - b);
    };
    expect(await from("203.0.113.7", 6)).toEqual([200, 200, 200, 429, 429, 429]);
    expect(await from("203.0.113.8", 4)).toEqual([200, 200, 200, 429]);
    // An IPv6 address is counted by its /64 network.
    expect(await from("2001:db8::1", 2)).toEqual([200, 200]);
    expect(await from("2001:db8::2", 2)).toEqual([200, 429]);
  });

  test("gets the limit for its API key in the answer's headers, and RATE_LIMITED above that limit", async () => {
    const limited = await startTestService({ hasWorker: false, settings: { RATE_LIMITS: "debug-signature=1" } });
    const asking = await aLender(limited);
    const first = await ask(aRequest(), asking);
    expect(first.headers["ratelimit-policy"]).toBe('"debug-signature";q=1;w=60');
    expect((await ask(aRequest(), asking)).body).toMatchObject({ code: "RATE_LIMITED" });
  });

  test("gets no diagnosis once failed authentications have reached their limit, because a diagnosis is expensive", async () => {
    const limited = await startTestService({ hasWorker: false, settings: { RATE_LIMITS: "failed-authentication=2" } });
    const failing = await aLender(limited);
    const fail = () => failing.call("GET", "/api/v1/partner/health", "", { hmacSecret: "another" });
    const answers = [await fail(), await fail(), await fail()];
    expect(answers.map(({ status, body }) => [status, "diagnosis" in body])).toEqual([
      [401, true],
      [401, true],
      [429, false],
    ]);
  });
});

describe("the contract's section on the signature debugger", () => {
  let section: string;
  beforeAll(async () => {
    const contract = await readFile(new URL("../../../../docs/interface.md", import.meta.url), "utf8");
    section = /^### Signature debugger$([\s\S]*?)^##/m.exec(contract)![1]!;
  });

  test("lists every cause of a wrong signature", () => {
    const rows = section.split("\n").filter((line) => line.startsWith("| `"));
    const cells = rows.map((row) => row.split("|")[1]!);
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`([A-Z_0-9]+)`/g)].map(([, cause]) => cause!));
    expect(listed.toSorted()).toEqual([...SIGNATURE_CAUSES].toSorted());
  });

  test("shows the real answer to its example request", () => {
    const [debugged, answered] = [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) =>
      JSON.parse(text!),
    );
    const secrets = { secret: "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f" };
    const { search, ...answer } = diagnose(debugged, secrets, Date.parse(answered.clock.serverTime));
    expect({ success: true, ...answer, searchComplete: search.complete }).toEqual(answered);
  });
});

function rightSignature(timestamp: string): string {
  return hmac(secret, `POST\n${PATH}\n${timestamp}\n${BODY}`).toString("hex");
}

function aRequest(): object {
  return { method: "GET", path: "/x", timestamp: "1795167667123", signature: "00" };
}

async function registered(twin: Lender, { app }: TestService = service) {
  const em = app.database.em();
  const { id } = (await lenderByCode(em, twin.code))!;
  return { em, id, keyId: identityOf(twin).apiKeyId };
}

/** Returns the API key that the lender was registered with. */
function identityOf({ secrets }: Lender): { apiKeyId: string; hmacSecret: string } {
  const [[apiKeyId, hmacSecret]] = [...secrets] as [[string, string]];
  return { apiKeyId, hmacSecret };
}
