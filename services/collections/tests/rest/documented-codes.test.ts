import type { Answer, CallOverrides } from "@collections/lender-twin";
import { transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { lenderByCode, revokeKey, suspendLender } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import type { ProblemCode } from "../../src/http/problem.ts";
import { DEFAULT_LIMIT_BYTES, type Endpoint } from "../../src/rest/endpoint/endpoint.ts";
import { problemCodesOf } from "../../src/rest/openapi/problem-codes.ts";
import { ENDPOINTS } from "../../src/rest/v1/endpoints.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

/** A request, apart from the method. Without a path, the path of the endpoint is called with valid parameters. */
interface Request {
  readonly query?: string;
  readonly path?: string;
  readonly body?: object | string;
  readonly overrides?: CallOverrides;
  readonly lender?: Lender;
}

const PAID_AT = "2026-11-20T09:40:55Z";
const DAY = { from: "2026-11-19T18:30:00Z", to: "2026-11-20T18:30:00Z" };
const DAY_IN_QUERY = `from=${DAY.from}&to=${DAY.to}`;
const PARAMETERS: Readonly<Record<string, string>> = {
  loan: "LN-1",
  runId: "rec_1",
  eventId: "evt_1",
  replayId: "replay_1",
};
const payment = { amount: 10, reference: "UTR1", paidAt: PAID_AT, mode: "upi" };
const reversal = { reference: "booked", reversalReference: "RET1", reversedAt: PAID_AT, reason: "bounced" };
const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
const thousandAndOne = Array.from({ length: 1_001 }, (_, index) => aRow(`MANY-${index}`));

let service: TestService;
let limited: TestService;
let live: TestService;
let lender: Lender;
let suspended: Lender;
let revoked: Lender;
let withoutCallback: Lender;
let withoutMintUrl: Lender;
let stranger: Lender;
let busy: Lender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const settings = { DATABASE_URL: service.databaseUrl };
  const one = ENDPOINTS.map(({ name }) => `${name}=1`).join(",");
  limited = await startTestService({ hasWorker: false, settings: { ...settings, RATE_LIMITS: one } });
  live = await startTestService({ hasWorker: false, settings: { ENVIRONMENT: "live" } });
  [lender, suspended, revoked, busy] = [
    await aLender(service),
    await aLender(service),
    await aLender(service),
    await aLender(limited),
  ];
  withoutCallback = await aLender(service, { callbackUrl: null } as never);
  withoutMintUrl = await aLender(service, { mintLinkUrl: null, mintAuthHeader: null });
  await withoutMintUrl.importCases([aRow("LN-1")]);
  stranger = await aLender(live);
  await change(suspended, (tx, id) => suspendLender(tx, id, "asked for"));
  await change(revoked, (tx, lenderId) => {
    const [keyId = ""] = [...revoked.secrets.keys()];
    return revokeKey(tx, { lenderId, keyId, reason: "leaked", evenIfLast: true });
  });
  await lender.importCases([aRow("LN-1"), aRow("LN-2"), aRow("LN-ENDED")]);
  await lender.importCases([aRow("LN-ENDED", { outstandingAmount: 0 })]);
  await lender.confirm("LN-1", { ...payment, reference: "booked" });
  await lender.call("POST", "/api/v1/partner/cases/LN-1/payments/reverse", { ...reversal, amount: 1 });
});

async function change({ code }: Lender, act: (tx: Tx, lenderId: string) => Promise<unknown>): Promise<void> {
  const em = service.app.database.em();
  const found = await lenderByCode(em, code);
  await transaction(em, (tx) => act(tx, found!.id));
}

/** Requests that get a code which only some endpoints answer, by the id of the operation. */
const OWN_REQUESTS: Readonly<Record<string, Readonly<Partial<Record<ProblemCode, Request>>>>> = {
  importCases: {
    VALIDATION_FAILED: { query: "dryRun=maybe&atomic=maybe", body: { rows: [] } },
    REQUIRED: { body: {} },
    WRONG_TYPE: { body: { rows: 7 } },
    INVALID_ENUM: { query: "dryRun=maybe", body: { rows: [] } },
    TOO_MANY_ROWS: { body: { rows: thousandAndOne } },
    IMPORT_REJECTED: { query: "atomic=true", body: { rows: [aRow("LN-7"), aRow("LN-7")] } },
  },
  listCases: {
    VALIDATION_FAILED: { query: "status=odd&updatedSince=odd" },
    WRONG_TYPE: { query: "status=new&status=new" },
    INVALID_DATE: { query: "updatedSince=odd" },
    NOT_UTC: { query: "updatedSince=2026-11-20T09:40:55" },
    INVALID_ENUM: { query: "status=odd" },
  },
  getCase: { LOAN_NOT_FOUND: { path: "/api/v1/partner/cases/LN-9" } },
  confirmPayment: {
    VALIDATION_FAILED: { body: { ...payment, reference: 7, mode: 7 } },
    LOAN_NOT_FOUND: { path: "/api/v1/partner/cases/LN-9/payments/confirm", body: payment },
    DUPLICATE_CONFIRMATION: { body: { ...payment, reference: "booked" } },
    REQUIRED: { body: { ...payment, reference: undefined } },
    WRONG_TYPE: { body: { ...payment, amount: "10" } },
    TOO_LONG: { body: { ...payment, reference: "x".repeat(129) } },
    INVALID_TEXT: { body: { ...payment, reference: "a\u0000b" } },
    INVALID_DATE: { body: { ...payment, paidAt: "yesterday" } },
    NOT_UTC: { body: { ...payment, paidAt: "2026-11-20T09:40:55" } },
    AMOUNT_PRECISION: { body: { ...payment, amount: 10.123 } },
    AMOUNT_OUT_OF_RANGE: { body: { ...payment, amount: 0 } },
    AMOUNT_LOOKS_LIKE_MINOR_UNITS: {
      path: "/api/v1/partner/cases/LN-2/payments/confirm",
      body: { ...payment, amount: 500_000 },
    },
    PAID_AT_IN_FUTURE: { body: { ...payment, paidAt: tomorrow } },
  },
  reversePayment: {
    VALIDATION_FAILED: { body: { ...reversal, reference: 7, reason: 7 } },
    LOAN_NOT_FOUND: { path: "/api/v1/partner/cases/LN-9/payments/reverse", body: reversal },
    PAYMENT_NOT_FOUND: { body: { ...reversal, reversalReference: "RET2", reference: "unknown" } },
    DUPLICATE_REVERSAL: { body: { ...reversal, amount: 1 } },
    REQUIRED: { body: { ...reversal, reference: undefined } },
    WRONG_TYPE: { body: { ...reversal, amount: "10" } },
    TOO_LONG: { body: { ...reversal, reference: "x".repeat(129) } },
    INVALID_TEXT: { body: { ...reversal, reference: "a\u0000b" } },
    INVALID_DATE: { body: { ...reversal, reversedAt: "yesterday" } },
    NOT_UTC: { body: { ...reversal, reversedAt: "2026-11-20T09:40:55" } },
    INVALID_ENUM: { body: { ...reversal, reason: "odd" } },
    AMOUNT_PRECISION: { body: { ...reversal, reversalReference: "RET2", amount: 1.123 } },
    AMOUNT_OUT_OF_RANGE: { body: { ...reversal, reversalReference: "RET2", amount: 0 } },
    REVERSAL_EXCEEDS_PAYMENT: { body: { ...reversal, reversalReference: "RET2", amount: 11 } },
    REVERSED_BEFORE_PAID: {
      body: { ...reversal, reversalReference: "RET2", amount: 1, reversedAt: "2020-01-01T00:00:00Z" },
    },
    REVERSED_AT_IN_FUTURE: { body: { ...reversal, reversalReference: "RET2", amount: 1, reversedAt: tomorrow } },
  },
  listPayments: {
    VALIDATION_FAILED: { query: "from=odd&to=odd" },
    REQUIRED: { query: `${DAY_IN_QUERY}&loan=` },
    WRONG_TYPE: { query: "loan=1&loan=1" },
    TOO_LONG: { query: `loan=${"x".repeat(200)}` },
    INVALID_TEXT: { query: "loan=a%00b" },
    INVALID_DATE: { query: `from=odd&to=${DAY.to}` },
    NOT_UTC: { query: `from=2026-11-20T09:40:55&to=${DAY.to}` },
    INVALID_ENUM: { query: `${DAY_IN_QUERY}&cursor=odd` },
  },
  reconcilePayments: {
    VALIDATION_FAILED: { body: { from: "odd", to: "odd", rows: [] } },
    REQUIRED: { body: DAY },
    WRONG_TYPE: { body: { ...DAY, rows: 7 } },
    INVALID_DATE: { body: { ...DAY, from: "odd", rows: [] } },
    NOT_UTC: { body: { ...DAY, from: "2026-11-20T09:40:55", rows: [] } },
    TOO_MANY_ROWS: { body: { ...DAY, rows: Array.from({ length: 10_001 }, () => ({})) } },
  },
  listReconciliations: {
    WRONG_TYPE: { query: "cursor=1&cursor=1" },
    INVALID_ENUM: { query: "cursor=odd" },
  },
  getReconciliation: { RECONCILIATION_NOT_FOUND: {} },
  debugSignature: {
    VALIDATION_FAILED: { body: { method: 7, path: 7 } },
    REQUIRED: { body: { method: "GET", path: "/", timestamp: "1" } },
    WRONG_TYPE: { body: { method: 7, path: "/", timestamp: "1", signature: "00" } },
    TOO_LONG: { body: { method: "x".repeat(7_000), path: "/", timestamp: "1", signature: "00" } },
  },
  testWebhook: {
    INVALID_ENUM: { body: { kind: "odd" } },
  },
  testMintLink: {
    VALIDATION_FAILED: { body: { loan: 7, amount: "1" } },
    LOAN_NOT_FOUND: { body: { loan: "LN-9" } },
    REQUIRED: { body: {} },
    WRONG_TYPE: { body: { loan: 7 } },
    TOO_LONG: { body: { loan: "x".repeat(200) } },
    INVALID_TEXT: { body: { loan: "a\u0000b" } },
    AMOUNT_PRECISION: { body: { loan: "LN-1", amount: 1.005 } },
    AMOUNT_OUT_OF_RANGE: { body: { loan: "LN-1", amount: 0 } },
  },
  listDeliveries: {
    VALIDATION_FAILED: { query: "state=odd&since=odd" },
    REQUIRED: { query: "loan=" },
    WRONG_TYPE: { query: "limit=1&limit=1" },
    TOO_LONG: { query: `loan=${"x".repeat(200)}` },
    INVALID_TEXT: { query: "loan=a%00b" },
    INVALID_DATE: { query: "since=odd" },
    NOT_UTC: { query: "since=2026-11-20T09:40:55" },
    INVALID_ENUM: { query: "state=odd" },
  },
  getDelivery: { DELIVERY_NOT_FOUND: {} },
  replayDelivery: { DELIVERY_NOT_FOUND: {} },
  replayDeliveries: {
    VALIDATION_FAILED: { body: { loan: 7, state: "odd" } },
    REQUIRED: { body: { loan: "" } },
    WRONG_TYPE: { body: { loan: 7 } },
    TOO_LONG: { body: { loan: "x".repeat(200) } },
    INVALID_TEXT: { body: { loan: "a\u0000b" } },
    INVALID_DATE: { body: { since: "odd" } },
    NOT_UTC: { body: { since: "2026-11-20T09:40:55" } },
    INVALID_ENUM: { body: { state: "odd" } },
  },
  getReplay: { REPLAY_NOT_FOUND: {} },
  createPortalLink: {
    VALIDATION_FAILED: { body: { name: 7 } },
    REQUIRED: { body: { name: "" } },
    WRONG_TYPE: { body: { name: 7 } },
    TOO_LONG: { body: { name: "x".repeat(51) } },
    INVALID_TEXT: { body: { name: "a\u0000b" } },
  },
  playSandbox: {
    VALIDATION_FAILED: { body: { loan: 7, scene: "odd" } },
    LOAN_NOT_FOUND: { body: { loan: "LN-9", scene: "visit" } },
    REQUIRED: { body: { loan: "LN-1" } },
    WRONG_TYPE: { body: { loan: 7, scene: "visit" } },
    TOO_LONG: { body: { loan: "x".repeat(200), scene: "visit" } },
    INVALID_TEXT: { body: { loan: "a\u0000b", scene: "visit" } },
    INVALID_ENUM: { body: { loan: "LN-1", scene: "odd" } },
  },
};

/** Returns requests that get the codes which an endpoint shares with other endpoints. */
function sharedRequests({ limitBytes = DEFAULT_LIMIT_BYTES }: Endpoint): Partial<Record<ProblemCode, Request>> {
  return {
    MISSING_AUTHORIZATION: { overrides: { authorization: null } },
    MISSING_TIMESTAMP: { overrides: { headers: { "X-Service-Timestamp": null } } },
    MISSING_SIGNATURE: { overrides: { signature: null } },
    MALFORMED_TIMESTAMP: { overrides: { timestamp: "today" } },
    TIMESTAMP_OUT_OF_RANGE: { overrides: { timestamp: "1795167667" } },
    UNKNOWN_KEY: { overrides: { authorization: "Bearer lk_nobody" } },
    KEY_REVOKED: { lender: revoked },
    BAD_SIGNATURE: { overrides: { hmacSecret: "another" } },
    PAYLOAD_TOO_LARGE: { body: "x".repeat(limitBytes + 1) },
    MALFORMED_JSON: { body: "{" },
    JSON_TOO_COMPLEX: { body: `{"note":${"[".repeat(32)}${"]".repeat(32)}}` },
    DUPLICATE_FIELD: { body: '{"note":1,"note":7}' },
    UNSUPPORTED_MEDIA_TYPE: { body: "{}", overrides: { contentType: "text/plain" } },
    LENDER_SUSPENDED: { lender: suspended },
    DEBUGGER_CLOSED: { lender: stranger, body: "{}" },
    PORTAL_OFF: { lender: stranger },
    SANDBOX_ONLY: { lender: stranger, body: { loan: "LN-1", scene: "visit" } },
    SCENE_NOT_PLAYABLE: { body: { loan: "LN-ENDED", scene: "visit" } },
    CALLBACK_NOT_CONFIGURED: { lender: withoutCallback },
    MINT_URL_NOT_CONFIGURED: { lender: withoutMintUrl, body: { loan: "LN-1" } },
    RATE_LIMITED: { lender: busy },
  };
}

const NO_PATH = "the request is refused before its path is known; errors.test.ts provokes it";
const NO_LONGER_SENT = "no documented answer is removed within /v1";
const ONE_FIELD = "the request has only one field that can be wrong, but no documented answer is removed within /v1";

/** Codes that an endpoint lists and that this file does not provoke, with the reason. */
function notProvoked({ operation, refusedWhileSuspended }: Endpoint): Partial<Record<ProblemCode, string>> {
  return {
    MALFORMED_HTTP: NO_PATH,
    HEADERS_TOO_LARGE: NO_PATH,
    REQUEST_TIMEOUT: NO_PATH,
    INTERNAL_ERROR: "errors.test.ts breaks a database for it",
    SERVICE_UNAVAILABLE: "errors.test.ts cuts off a database for it",
    ...(!refusedWhileSuspended && { LENDER_SUSPENDED: NO_LONGER_SENT }),
    ...(operation.id === "confirmPayment" && {
      LINK_LOAN_MISMATCH: "errors.test.ts mints a link for it",
      INVALID_ENUM: NO_LONGER_SENT,
    }),
    ...(["testWebhook", "replayDelivery", "createPortalLink"].includes(operation.id) && {
      VALIDATION_FAILED: ONE_FIELD,
    }),
  };
}

function send({ method, path }: Endpoint, request: Request): Promise<Answer> {
  const { query, body, overrides, lender: caller = lender } = request;
  const target = request.path ?? path.replaceAll(/\{(\w+)\}/g, (_, name: string) => PARAMETERS[name]!);
  return caller.call(method, query === undefined ? target : `${target}?${query}`, body, overrides);
}

function malformedPath({ path }: Endpoint): string {
  return path.replace(/\{\w+\}/, "%E0%A4%A");
}

test.each(ENDPOINTS.map((endpoint) => [endpoint.operation.id, endpoint] as const))(
  "%s answers each code that the OpenAPI document lists for it",
  async (id, endpoint) => {
    const requests: Partial<Record<ProblemCode, Request>> = {
      ...sharedRequests(endpoint),
      MALFORMED_PATH: { path: malformedPath(endpoint) },
      ...OWN_REQUESTS[id],
    };
    const reasons = notProvoked(endpoint);
    const faults: string[] = [];
    for (const code of problemCodesOf(endpoint).filter((code) => reasons[code] === undefined)) {
      const request = requests[code];
      if (request && code === "RATE_LIMITED") await send(endpoint, request);
      const answer = request && (await send(endpoint, request));
      const found = answer ? `${answer.status} ${answer.rawBody.slice(0, 200)}` : "this test has no request for it";
      if (answer?.body["code"] !== code) faults.push(`${code}: ${found}`);
    }
    expect(faults).toEqual([]);
  },
);
