import type { Answer, CallOverrides } from "@collections/lender-twin";
import { transaction } from "@collections/database";
import { lenderByCode, revokeKey, suspendLender } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { type ProblemCode, PROBLEM_CODES, problemBody, Problem } from "../../src/http/problem.ts";
import { aRelay } from "../fixtures/processes.ts";
import { answerTo } from "../fixtures/raw-socket.ts";
import {
  aFieldPartner,
  aLender,
  aRow,
  assign,
  startTestService,
  type TestService,
  GENEROUS_TIMES,
} from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

const CONFIRM = "/api/v1/partner/cases/LN-1/payments/confirm";

let service: TestService;
let lender: Lender;
let other: Lender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  other = await aLender(service);
  await lender.importCases([aRow("LN-1"), aRow("LN-2"), aRow("LN-3"), aRow("PAID", { outstandingAmount: 100 })]);
  await lender.confirm("PAID", payment({ amount: 100 }));
  await lender.confirm("LN-1", payment({ reference: "booked", amount: 10 }));
  await lender.confirm("LN-3", payment({ reference: "booked", amount: 10 }));
});

function payment(fields: object = {}): never {
  return { amount: 2500, reference: "pay_1", paidAt: "2026-11-20T09:40:55Z", mode: "upi", ...fields } as never;
}

function confirm(fields: object, overrides?: CallOverrides): Promise<Answer> {
  return lender.call("POST", CONFIRM, payment(fields), overrides);
}

function reverse(fields: object): Promise<Answer> {
  const reversal = { reference: "booked", reversalReference: "rev_1", reversedAt: new Date().toISOString(), ...fields };
  return lender.call("POST", "/api/v1/partner/cases/LN-3/payments/reverse", { reason: "bounced", ...reversal });
}

function importRow(fields: object): Promise<Answer> {
  return lender.importCases([aRow("LN-9", fields as Record<string, unknown>)]);
}

/**
 * For each problem code, a request that gets it. If a code has no request here, the types do not match and nothing
 * compiles.
 */
const scenes: Record<ProblemCode, () => Promise<Answer>> = {
  RATE_LIMITED: async () => {
    const { databaseUrl: DATABASE_URL } = service;
    const limited = await startTestService({ hasWorker: false, settings: { DATABASE_URL, RATE_LIMITS: "health=1" } });
    const busy = await aLender(limited);
    await busy.health();
    return busy.health();
  },
  MALFORMED_JSON: () => lender.call("POST", CONFIRM, '{"amount":'),
  JSON_TOO_COMPLEX: () => lender.call("POST", CONFIRM, `{"note":${"[".repeat(32)}${"]".repeat(32)}}`),
  DUPLICATE_FIELD: () => lender.call("POST", CONFIRM, '{"amount":1,"amount":7}'),
  MALFORMED_HTTP: () => answerTo(service.url, "GET /api/v1/partner/health HTTP/1.1\r\n\r\n"),
  HEADERS_TOO_LARGE: () => answerTo(service.url, `GET / HTTP/1.1\r\nHost: service\r\nX: ${"x".repeat(17_000)}\r\n\r\n`),
  REQUEST_TIMEOUT: async () => {
    const impatient = await startHttpServer(service.app, { ...GENEROUS_TIMES, headersMs: 50, checkEveryMs: 20 });
    afterFile(() => impatient.stop(0));
    return answerTo(impatient.url, "GET /api/v1/partner/health HTTP/1.1\r\nHost: se");
  },
  MALFORMED_PATH: () => lender.call("GET", "/api/v1/partner/cases/%E0%A4%A"),
  MISSING_AUTHORIZATION: () => lender.call("GET", "/api/v1/partner/health", "", { authorization: null }),
  MISSING_TIMESTAMP: () =>
    lender.call("GET", "/api/v1/partner/health", "", { headers: { "X-Service-Timestamp": null } }),
  MISSING_SIGNATURE: () => lender.call("GET", "/api/v1/partner/health", "", { signature: null }),
  MALFORMED_TIMESTAMP: () => lender.call("GET", "/api/v1/partner/health", "", { timestamp: "today" }),
  TIMESTAMP_OUT_OF_RANGE: () => lender.call("GET", "/api/v1/partner/health", "", { timestamp: "1795167667" }),
  UNKNOWN_KEY: () => lender.call("GET", "/api/v1/partner/health", "", { authorization: "Bearer lk_nobody" }),
  KEY_REVOKED: async () => {
    const revoked = await aLender(service);
    const { em, id, keyId } = await keyOf(revoked);
    await transaction(em(), (tx) => revokeKey(tx, { lenderId: id, keyId, reason: "leaked", evenIfLast: true }));
    return revoked.health();
  },
  BAD_SIGNATURE: () => lender.call("GET", "/api/v1/partner/health", "", { hmacSecret: "another" }),
  LENDER_SUSPENDED: async () => {
    const suspended = await aLender(service);
    const { em, id } = await keyOf(suspended);
    await transaction(em(), (tx) => suspendLender(tx, id, "asked for"));
    return suspended.importCases([aRow("LN-1")]);
  },
  DEBUGGER_CLOSED: async () => {
    const live = await startTestService({ hasWorker: false, settings: { ENVIRONMENT: "live" } });
    const stranger = await aLender(live);
    return stranger.call("POST", "/api/v1/partner/debug/signature", {}, { signature: null });
  },
  PORTAL_OFF: async () => {
    const live = await startTestService({ hasWorker: false, settings: { ENVIRONMENT: "live" } });
    return (await aLender(live)).call("POST", "/api/v1/partner/portal-links");
  },
  SANDBOX_ONLY: async () => {
    const live = await startTestService({ hasWorker: false, settings: { ENVIRONMENT: "live" } });
    return (await aLender(live)).call("POST", "/api/v1/partner/sandbox/play", { loan: "LN-1", scene: "visit" });
  },
  SCENE_NOT_PLAYABLE: async () => {
    const settled = await aLender(service);
    await settled.importCases([aRow("LN-1")]);
    await settled.importCases([aRow("LN-1", { outstandingAmount: 0 })]);
    return settled.call("POST", "/api/v1/partner/sandbox/play", { loan: "LN-1", scene: "visit" });
  },
  ROUTE_NOT_FOUND: () => lender.call("GET", "/api/v1/partner/nothing"),
  LOAN_NOT_FOUND: () => other.getCase("LN-1"),
  DELIVERY_NOT_FOUND: () => lender.call("GET", "/api/v1/partner/webhooks/deliveries/evt_1"),
  RECONCILIATION_NOT_FOUND: () => lender.call("GET", "/api/v1/partner/payments/reconcile/rec_1"),
  REPLAY_NOT_FOUND: () => lender.call("GET", "/api/v1/partner/webhooks/replays/replay_1"),
  METHOD_NOT_ALLOWED: () => lender.call("POST", "/api/v1/partner/health"),
  UNSUPPORTED_MEDIA_TYPE: () => confirm({}, { contentType: "text/plain" }),
  PAYMENT_NOT_FOUND: () => reverse({ reference: "unknown" }),
  DUPLICATE_REVERSAL: async () => {
    await reverse({ reversalReference: "twice", amount: 1 });
    return reverse({ reversalReference: "twice", amount: 1 });
  },
  REVERSAL_EXCEEDS_PAYMENT: () => reverse({ amount: 11 }),
  REVERSED_BEFORE_PAID: () => reverse({ amount: 1, reversedAt: "2020-01-01T00:00:00Z" }),
  REVERSED_AT_IN_FUTURE: () => reverse({ amount: 1, reversedAt: new Date(Date.now() + 6 * 60_000).toISOString() }),
  DUPLICATE_CONFIRMATION: () => confirm({ reference: "booked", amount: 10 }),
  CALLBACK_NOT_CONFIGURED: async () => (await aLender(service, { callbackUrl: null } as never)).testWebhook(),
  MINT_URL_NOT_CONFIGURED: async () => {
    const bare = await aLender(service, { mintLinkUrl: null, mintAuthHeader: null });
    await bare.importCases([aRow("LN-1")]);
    return bare.call("POST", "/api/v1/partner/mint-link/test", { loan: "LN-1" });
  },
  PAYLOAD_TOO_LARGE: () => confirm({ note: "x".repeat(16 * 1024) }),
  VALIDATION_FAILED: () => confirm({ reference: 7, mode: 7 }),
  REQUIRED: () => confirm({ reference: undefined }),
  WRONG_TYPE: () => confirm({ amount: "2500" }),
  TOO_LONG: () => confirm({ reference: "x".repeat(129) }),
  INVALID_TEXT: () => confirm({ reference: "a\u0000b" }),
  INVALID_PHONE: () => importRow({ borrowerPhone: "12" }),
  INVALID_DATE: () => confirm({ paidAt: "yesterday" }),
  NOT_UTC: () => confirm({ paidAt: "2026-11-20T09:40:55" }),
  INVALID_CURRENCY: () => importRow({ currency: "RUPEES" }),
  INVALID_ENUM: () => reverse({ reason: "odd" }),
  DUPLICATE_IN_REQUEST: () => lender.importCases([aRow("LN-8"), aRow("LN-8")]),
  AMOUNT_PRECISION: () => lender.call("POST", CONFIRM, JSON.stringify(payment()).replace("2500", "2500.123")),
  AMOUNT_OUT_OF_RANGE: () => confirm({ amount: -5 }),
  AMOUNT_LOOKS_LIKE_MINOR_UNITS: () => confirm({ amount: 499_000 }),
  CURRENCY_MISMATCH: () => lender.importCases([aRow("LN-2", { currency: "USD" })]),
  PAID_AT_IN_FUTURE: () => confirm({ paidAt: new Date(Date.now() + 6 * 60_000).toISOString() }),
  LINK_LOAN_MISMATCH: linkOfAnotherLoan,
  TOO_MANY_ROWS: () => lender.importCases(Array.from({ length: 1_001 }, (_, index) => aRow(`MANY-${index}`))),
  IMPORT_REJECTED: () => lender.importCases([aRow("LN-7"), aRow("LN-7")], { atomic: true }),
  INTERNAL_ERROR: async () => {
    const broken = await startTestService({ hasWorker: false });
    const victim = await aLender(broken);
    await broken.app.database.pool.query("alter table ledger.payment_booking rename to gone");
    await victim.importCases([aRow("LN-1")]);
    return victim.confirm("LN-1", payment());
  },
  SERVICE_UNAVAILABLE: async () => {
    const relay = await aRelay(service.databaseUrl);
    const cutOff = await startTestService({ hasWorker: false, settings: { DATABASE_URL: relay.url } });
    const victim = await aLender(cutOff);
    relay.cut();
    return victim.health();
  },
};

/** Codes that only a rejected row of an import gets, in an answer with status 200. */
const ROW_CODES: ReadonlySet<ProblemCode> = new Set([
  "INVALID_PHONE",
  "INVALID_CURRENCY",
  "DUPLICATE_IN_REQUEST",
  "CURRENCY_MISMATCH",
]);

test.each([...ROW_CODES])("%s is reported for a row of an import", async (code) => {
  const answer = await scenes[code]();
  const rows = answer.body["results"] as { errors?: { code: string }[] }[];
  expect(answer.status).toBe(200);
  expect(rows.flatMap(({ errors }) => errors ?? []).map((fault) => fault.code)).toContain(code);
});

test.each(PROBLEM_CODES.filter((code) => !ROW_CODES.has(code)))(
  "%s has the status, type and headers that the contract states",
  async (code) => {
    const answer = await scenes[code]();
    const expected = problemBody(new Problem(code, ""), "", "");
    expect(answer.body).toMatchObject({
      type: expected["type"],
      title: expected["title"],
      status: expected["status"],
      code,
      success: false,
      retryable: expected["retryable"],
    });
    expect(answer.status).toBe(expected["status"]);
    expect(answer.body["detail"]).toMatch(/\w.*\.$/);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.headers["x-request-id"]).toBe(answer.body["requestId"]);
    expect(answer.rawBody).not.toMatch(/node_modules|at \w+ \(/);
  },
);

test.each(["9".repeat(19), "9".repeat(400)])(
  "a timestamp of %s gets TIMESTAMP_OUT_OF_RANGE with a skewMs that is a safe integer",
  async (timestamp) => {
    const { status, body } = await lender.call("GET", "/api/v1/partner/health", "", { timestamp });
    expect({ status, code: body["code"] }).toEqual({ status: 401, code: "TIMESTAMP_OUT_OF_RANGE" });
    expect(body["skewMs"]).toSatisfy((skewMs: number) => Number.isSafeInteger(skewMs) && skewMs < 0);
  },
);

test("a wrong signature over a large body gets a short answer without a diagnosis", async () => {
  const [keyId] = [...lender.secrets][0]!;
  const body = "x".repeat(2 * 1024 * 1024);
  const { status, ...answer } = await fetch(`${service.url}/api/v1/partner/cases`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${keyId}`,
      "X-Service-Timestamp": String(Date.now()),
      "X-Service-Signature": "ab".repeat(32),
    },
    body,
  }).then(async (response) => ({ status: response.status, text: await response.text() }));
  expect(status).toBe(401);
  expect(answer.text.length).toBeLessThan(80_000);
  const problem = JSON.parse(answer.text) as Record<string, unknown>;
  expect(problem).toMatchObject({ code: "BAD_SIGNATURE", bodyBytes: body.length });
  expect(problem["canonicalString"]).toMatch(/^POST\n.*\n\d+\nx+… \(cut: \d+ bytes in all\)$/s);
  // A diagnosis computes hundreds of signatures over the body, so the service makes a diagnosis only for short bodies.
  expect(problem).not.toHaveProperty("diagnosis");
  expect(problem["detail"]).toContain("Sign a body of at most 65536 bytes in the same way to see a diagnosis.");
});

test("problems contain the additional fields and headers that belong to their code", async () => {
  expect((await scenes.TIMESTAMP_OUT_OF_RANGE()).body).toMatchObject({
    detail: expect.stringContaining("looks like seconds") as string,
    serverTime: expect.any(String) as string,
    skewMs: expect.any(Number) as number,
  });
  const badSignature = await scenes.BAD_SIGNATURE();
  expect(badSignature.body).toMatchObject({
    canonicalSha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    bodyBytes: 0,
    canonicalString: expect.stringMatching(/^GET\n\/api\/v1\/partner\/health\n\d+\n$/) as string,
    diagnosis: [{ cause: "SECRET_OF_ANOTHER_KEY", certain: false, fix: expect.any(String) as string }],
  });
  expect((await scenes.METHOD_NOT_ALLOWED()).headers["allow"]).toBe("GET");
  expect((await scenes.PAYLOAD_TOO_LARGE()).body).toMatchObject({ limitBytes: 16 * 1024 });
  expect((await scenes.SERVICE_UNAVAILABLE()).headers["retry-after"]).toBe("2");
  expect((await scenes.VALIDATION_FAILED()).body["errors"]).toMatchObject([
    { code: "WRONG_TYPE", pointer: "/reference" },
    { code: "WRONG_TYPE", pointer: "/mode" },
  ]);
  expect((await scenes.AMOUNT_PRECISION()).body["errors"]).toMatchObject([
    { code: "AMOUNT_PRECISION", pointer: "/amount", detail: "INR takes at most 2 decimals; got 2500.123." },
  ]);
});

test("the service checks a request in the documented order, and parses nothing before the signature is verified", async () => {
  const order: [ProblemCode, () => Promise<Answer>][] = [
    [
      "ROUTE_NOT_FOUND",
      () => lender.call("POST", "/api/v1/partner/nothing", "x".repeat(80_000), { authorization: null }),
    ],
    ["PAYLOAD_TOO_LARGE", () => lender.call("POST", CONFIRM, "x".repeat(20_000), { authorization: null })],
    ["MISSING_AUTHORIZATION", () => lender.call("POST", CONFIRM, "{", { authorization: null, timestamp: "1" })],
    [
      "TIMESTAMP_OUT_OF_RANGE",
      () => lender.call("POST", CONFIRM, "{", { authorization: "Bearer lk_no", timestamp: "1" }),
    ],
    ["UNKNOWN_KEY", () => lender.call("POST", CONFIRM, "{", { authorization: "Bearer lk_no", signature: "00" })],
    ["BAD_SIGNATURE", () => lender.call("PUT", CONFIRM, "{", { signature: "00" })],
    ["METHOD_NOT_ALLOWED", () => lender.call("PUT", CONFIRM, "{", { contentType: "text/plain" })],
    ["UNSUPPORTED_MEDIA_TYPE", () => lender.call("POST", CONFIRM, "{", { contentType: "text/plain" })],
    ["MALFORMED_JSON", () => lender.call("POST", CONFIRM, "{")],
    ["WRONG_TYPE", () => confirm({ reference: "booked", amount: "odd" })],
    ["DUPLICATE_CONFIRMATION", () => confirm({ reference: "booked", amount: -1 })],
  ];
  for (const [code, send] of order) expect((await send()).body["code"]).toBe(code);
});

test("outside a sandbox, BAD_SIGNATURE does not contain the canonical string", async () => {
  const live = await startTestService({ hasWorker: false, settings: { ENVIRONMENT: "live" } });
  const customer = await aLender(live);
  const answer = await customer.call("GET", "/api/v1/partner/health", "", { signature: "00" });
  expect(answer.body).toMatchObject({ code: "BAD_SIGNATURE" });
  expect(answer.body).not.toHaveProperty("canonicalString");
});

async function keyOf(twin: Lender) {
  const em = () => service.app.database.em();
  const { id } = (await lenderByCode(em(), twin.code))!;
  const keyId = [...twin.secrets.keys()][0]!;
  return { em, id, keyId };
}

/** Confirms a payment of LN-1 with the id of a link that was minted for LN-2. */
async function linkOfAnotherLoan(): Promise<Answer> {
  const fieldPartner = await aFieldPartner(service);
  await assign(service, lender.code, "LN-2", fieldPartner.id);
  const { rows } = await service.app.database.pool.query<{ lender_id: string; id: string }>(
    "select lender_id, id from cases.collection_case where source_loan_number = 'LN-2' and status = 'assigned'",
  );
  await service.app.database.pool.query(
    `insert into payment_links.payment_link (lender_id, id, case_id, source_loan_number, visit_id, field_partner_id,
       amount_minor, currency, status, link_id, url, mint_key, mint_started_at, minted_at, channels, created_at, updated_at)
     values ($1, gen_random_uuid(), $2, 'LN-2', gen_random_uuid(), $3, 500000, 'INR', 'minted', 'plink_other',
       'https://pay.example/1', gen_random_uuid(), now(), now(), '{}', now(), now())`,
    [rows[0]!.lender_id, rows[0]!.id, fieldPartner.id],
  );
  return confirm({ linkId: "plink_other" });
}
