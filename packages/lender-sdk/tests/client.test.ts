import { beforeAll, describe, expect, test } from "vitest";
import {
  type CapturedPayment,
  CollectionsClient,
  type ClientOptions,
  CollectionsError,
  ImportRejectedError,
  InvalidAmountError,
  NoAnswerError,
  ProblemError,
  ReferenceConflictError,
  type Retry,
  UnexpectedAnswerError,
  type Warning,
} from "../src/index.ts";
import { KEY_ID, problem, type ScriptedService, SECRET, startScriptedService } from "./scripted-service.ts";

const PAYMENT: CapturedPayment = {
  amount: "90071992547409.93",
  reference: "pay_Nx81",
  paidAt: new Date("2026-11-20T09:40:55Z"),
  mode: "upi",
  linkId: "plink_77",
};
const PAYMENT_BYTES =
  '{"amount":90071992547409.93,"reference":"pay_Nx81","paidAt":"2026-11-20T09:40:55.000Z","mode":"upi","linkId":"plink_77"}';
const BOOKED_TEXT =
  '{"success":true,"caseId":"case_1","outstandingAfter":0.10,"totalCollected":90071992547409.93,"warnings":[]}';
const BOOKED = { status: 200, text: BOOKED_TEXT };
const ORIGINAL = { success: true, caseId: "case_1", outstandingAfter: 1800, amount: 2500.5, warnings: [] };

let service: ScriptedService;

beforeAll(async () => {
  service = await startScriptedService();
});

function aClient(options: Partial<ClientOptions> = {}): CollectionsClient {
  const pauses = { firstPauseMs: 5, longestPauseMs: 20 };
  const times = { attemptTimeoutMs: 300_000, totalTimeoutMs: 600_000 };
  const own = { baseUrl: service.url, apiKeyId: KEY_ID, hmacSecret: SECRET };
  return new CollectionsClient({ ...own, pauses, ...times, ...options });
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("a call without a successful answer", () => {
  test("is retried with the same bytes, path, timestamp and signature, so that the service recognizes the retry", async () => {
    let nowMs = Date.now();
    service.answerWith("reset", problem(503, "SERVICE_UNAVAILABLE"), "cut", { status: 502, text: "<html>" }, BOOKED);
    const retries: Retry[] = [];
    const client = aClient({ now: () => (nowMs += 1_000), onRetry: (retry) => retries.push(retry) });
    await client.confirmPayment("MUM/2023/00123", PAYMENT);

    const { seen } = service;
    expect(seen.map(({ isSigned }) => isSigned)).toEqual([true, true, true, true, true]);
    expect(new Set(seen.map(({ body }) => body))).toEqual(new Set([PAYMENT_BYTES]));
    expect(new Set(seen.map(({ url }) => url))).toEqual(
      new Set(["/api/v1/partner/cases/MUM%2F2023%2F00123/payments/confirm"]),
    );
    expect(new Set(seen.map(({ timestamp }) => timestamp)).size).toBe(1);
    expect(new Set(seen.map(({ signature }) => signature)).size).toBe(1);
    expect(retries.map(({ attempt, error }) => [attempt, error.code])).toEqual([
      [1, "NO_ANSWER"],
      [2, "SERVICE_UNAVAILABLE"],
      [3, "NO_ANSWER"],
      [4, "UNEXPECTED_ANSWER"],
    ]);
  });

  test("is signed again before its signature becomes too old, and its signature is not used for another call", async () => {
    let nowMs = Date.now();
    service.answerWith("reset", "reset", BOOKED, BOOKED);
    const client = aClient({ now: () => (nowMs += 100_000) });
    await client.confirmPayment("LN-1001", PAYMENT);
    await client.confirmPayment("LN-1001", PAYMENT);
    const signatures = service.seen.map(({ signature }) => signature);
    expect(signatures.map((signature) => signatures.indexOf(signature))).toEqual([0, 0, 2, 3]);
    expect(service.seen.map(({ isSigned }) => isSigned)).toEqual([true, true, true, true]);
  });

  test("is retried after one attempt timed out", async () => {
    service.answerWith("hang", BOOKED);
    await aClient({ attemptTimeoutMs: 200 }).confirmPayment("LN-1", PAYMENT);
    // On a busy machine, further attempts may time out.
    expect(service.seen.length).toBeGreaterThanOrEqual(2);
  });

  test("waits at least as long as Retry-After says", async () => {
    service.answerWith(
      { ...(problem(429, "RATE_LIMITED") as object), status: 429, headers: { "Retry-After": "1" } },
      BOOKED,
    );
    await aClient().confirmPayment("LN-1", PAYMENT);
    const [first, second] = service.seen;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(950);
  });

  test("fails at once if Retry-After exceeds the remaining time", async () => {
    const limited = problem(429, "RATE_LIMITED") as { status: number };
    service.answerWith({ ...limited, headers: { "Retry-After": "3600" } });
    const error = await errorOf(aClient().health());
    expect(error).toMatchObject({ code: "RATE_LIMITED", retryable: true, retryAfterMs: 3_600_000, requestId: "req_1" });
    expect(service.seen).toHaveLength(1);
  });

  test("fails within its total time, with the error of the last attempt", async () => {
    service.answerWith("hang");
    // On a busy machine, only one attempt may fit into the total time. Then a longer one follows.
    for (let totalTimeoutMs = 400; service.seen.length < 2; totalTimeoutMs *= 4) {
      service.answerWith("hang");
      const error = await errorOf(aClient().health({ attemptTimeoutMs: totalTimeoutMs / 4, totalTimeoutMs }));
      expect(error).toBeInstanceOf(NoAnswerError);
      expect(error).toMatchObject({ code: "NO_ANSWER", retryable: true });
    }
  });

  test("rejects with the reason of the caller's signal, during an attempt or between two", async () => {
    service.answerWith("hang");
    const reason = new Error("The process is stopping.");
    const inAttempt = new AbortController();
    const hanging = errorOf(aClient().health({ signal: inAttempt.signal }));
    await expect.poll(() => service.seen.length).toBe(1);
    inAttempt.abort(reason);
    expect(await hanging).toBe(reason);

    service.answerWith(problem(503, "SERVICE_UNAVAILABLE"));
    const between = new AbortController();
    const pauses = { firstPauseMs: 60_000, longestPauseMs: 60_000 };
    const client = aClient({ pauses, totalTimeoutMs: 600_000, onRetry: () => between.abort(reason) });
    expect(await errorOf(client.health({ signal: between.signal }))).toBe(reason);
    expect(await errorOf(client.health({ signal: between.signal }))).toBe(reason);
    expect(service.seen).toHaveLength(1);
  });

  test("is sent only once if its error is not retryable", async () => {
    const errors = [{ code: "AMOUNT_PRECISION", pointer: "/amount", detail: "INR takes at most 2 decimals." }];
    service.answerWith(problem(422, "AMOUNT_PRECISION", { errors }));
    const error = await errorOf(aClient().confirmPayment("LN-1", PAYMENT));
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      code: "AMOUNT_PRECISION",
      status: 422,
      retryable: false,
      requestId: "req_1",
      errors,
    });
    expect((error as Error).message).toContain("/amount: INR takes at most 2 decimals.");
    expect(service.seen).toHaveLength(1);
  });

  test("does not follow a redirect, because only the first path was signed", async () => {
    service.answerWith({ status: 301, headers: { Location: "https://www.example/" } });
    const error = await errorOf(aClient().health());
    expect(error).toBeInstanceOf(UnexpectedAnswerError);
    expect(error).toMatchObject({ status: 301, retryable: false });
    expect((error as Error).message).toContain("https://www.example/");
  });
});

describe("confirmPayment", () => {
  test("sends and returns amounts with more digits than a double can hold", async () => {
    service.answerWith(BOOKED);
    const booking = await aClient().confirmPayment("LN-1", PAYMENT);
    expect(service.seen[0]!.body).toBe(PAYMENT_BYTES);
    expect(booking).toMatchObject({
      outstandingAfter: "0.10",
      totalCollected: "90071992547409.93",
      repeated: false,
      reversals: [],
      requestId: "req_1",
    });
  });

  test("returns the original booking if the payment is booked already", async () => {
    service.answerWith(problem(409, "DUPLICATE_CONFIRMATION", { matches: true, differences: [], original: ORIGINAL }));
    const booking = await aClient().confirmPayment("LN-1", PAYMENT);
    expect(booking).toMatchObject({ caseId: "case_1", outstandingAfter: "1800", repeated: true, requestId: "req_1" });
    expect(booking.reversals).toEqual([]);
  });

  test("returns the reversals of a payment that is booked already", async () => {
    const reversal = {
      reversalReference: "rev_1",
      amount: 2500.5,
      reason: "bounced",
      reversedAt: "…",
      recordedAt: "…",
    };
    const members = { differences: [], original: ORIGINAL, reversedAmount: 2500.5, reversals: [reversal] };
    const expected = [{ ...reversal, amount: "2500.5" }];
    service.answerWith(problem(409, "DUPLICATE_CONFIRMATION", { ...members, matches: true }));
    expect((await aClient().confirmPayment("LN-1", PAYMENT)).reversals).toEqual(expected);
    service.answerWith(problem(409, "DUPLICATE_CONFIRMATION", { ...members, matches: false }));
    expect(await errorOf(aClient().confirmPayment("LN-1", PAYMENT))).toMatchObject({ reversals: expected });
  });

  test("throws an error with the original booking and the differences if another payment is booked under the reference", async () => {
    const members = { matches: false, differences: ["amount"], original: ORIGINAL };
    service.answerWith(problem(409, "DUPLICATE_CONFIRMATION", members));
    const error = await errorOf(aClient().confirmPayment("LN-1", PAYMENT));
    expect(error).toBeInstanceOf(ReferenceConflictError);
    expect(error).toMatchObject({
      code: "DUPLICATE_CONFIRMATION",
      retryable: false,
      differences: ["amount"],
      original: { amount: "2500.5", caseId: "case_1" },
    });
  });

  test("rejects a number as the amount before it sends a request", async () => {
    service.answerWith(BOOKED);
    const call = aClient().confirmPayment("LN-1", { ...PAYMENT, amount: 2500.5 as unknown as string });
    expect(await errorOf(call)).toBeInstanceOf(InvalidAmountError);
    expect(service.seen).toHaveLength(0);
  });
});

describe("importCases", () => {
  const row = { sourceLoanNumber: "LN-1", borrowerName: "Ravi", borrowerPhone: "+919800000001" };

  test("sends exact amounts, and reports every warning, including those of rows", async () => {
    const ofRow = { code: "UNKNOWN_FIELD", pointer: "/rows/0/loanID", detail: "…" };
    const ofRequest = { code: "UNKNOWN_PARAMETER", pointer: "/", detail: "…" };
    service.answerWith({
      status: 200,
      body: { success: true, results: [{ warnings: [ofRow] }], warnings: [ofRequest] },
    });
    const warnings: Warning[] = [];
    const client = aClient({ onWarning: (warning) => warnings.push(warning) });
    await client.importCases([{ ...row, outstandingAmount: "0.10", emiAmount: "7.00", minimumAmount: null }]);
    expect(service.seen[0]!.body).toBe(
      '{"rows":[{"sourceLoanNumber":"LN-1","borrowerName":"Ravi","borrowerPhone":"+919800000001",' +
        '"outstandingAmount":0.10,"emiAmount":7.00,"minimumAmount":null}],"dryRun":false,"atomic":false}',
    );
    expect(warnings).toEqual([ofRequest, ofRow]);
  });

  test("throws an error with the results of the rows if an atomic import was rejected", async () => {
    const results = [{ index: 0, outcome: "rejected", errors: [] }];
    service.answerWith(problem(422, "IMPORT_REJECTED", { results }));
    const error = await errorOf(aClient().importCases([{ ...row, outstandingAmount: "1" }], { atomic: true }));
    expect(error).toBeInstanceOf(ImportRejectedError);
    expect(error).toMatchObject({ code: "IMPORT_REJECTED", results });
  });

  test("rejects an amount that is a number, with an error that names the row", async () => {
    const call = aClient().importCases([{ ...row, outstandingAmount: 1 as unknown as string }]);
    await expect(call).rejects.toThrow("rows[0].outstandingAmount: expected major units as text");
  });
});

test("getCaseIfChanged returns undefined for an unchanged case, and a changed case with its etag", async () => {
  service.answerWith({ status: 304 });
  expect(await aClient().getCaseIfChanged("LN-1", '"14"')).toBeUndefined();
  expect(service.seen[0]!.headers["if-none-match"]).toBe('"14"');

  await expect(aClient().getCaseIfChanged("LN-1", '"14"\n"15"')).rejects.toThrow(TypeError);
  service.answerWith({ status: 200, body: { success: true, sequence: 15 }, headers: { ETag: '"15"' } });
  expect(await aClient().getCaseIfChanged("LN-1", '"14"')).toMatchObject({ sequence: 15, etag: '"15"' });
});

test("eachDelivery loads page after page with the same filter", async () => {
  const page = (eventId: string, nextCursor: string | null) => ({
    status: 200,
    body: { success: true, deliveries: [{ eventId }], nextCursor },
  });
  service.answerWith(page("evt_1", "c+/="), page("evt_2", null));
  const since = new Date("2026-11-20T09:40:55Z");
  const found = await Array.fromAsync(aClient().eachDelivery({ state: "parked", loan: "A/B", since }));
  expect(found.map(({ eventId }) => eventId)).toEqual(["evt_1", "evt_2"]);
  const filter = "state=parked&loan=A%2FB&since=2026-11-20T09%3A40%3A55.000Z";
  expect(service.seen.map(({ url, isSigned }) => [url, isSigned])).toEqual([
    [`/api/v1/partner/webhooks/deliveries?${filter}`, true],
    [`/api/v1/partner/webhooks/deliveries?${filter}&cursor=c%2B%2F%3D`, true],
  ]);
});

test("client.payments loads page after page with the same filter, and requests a page again if it failed or had no new item", async () => {
  const page = (references: string[], nextCursor: string | null) => ({
    status: 200,
    body: { success: true, payments: references.map((reference) => ({ reference, amount: 0.1 })), nextCursor },
  });
  service.answerWith(page(["UTR1"], "c1"), "reset", page([], "c1"), page(["UTR2", "UTR3"], null));
  const from = new Date("2026-11-20T18:30:00Z");
  const startedAt = performance.now();
  const found = await Array.fromAsync(aClient().payments({ from, to: "2026-11-21T18:30:00Z", reference: "a/b" }));
  expect(found).toEqual(["UTR1", "UTR2", "UTR3"].map((reference) => ({ reference, amount: "0.1" })));
  expect(performance.now() - startedAt).toBeGreaterThan(950);
  const filter = "from=2026-11-20T18%3A30%3A00.000Z&to=2026-11-21T18%3A30%3A00Z&reference=a%2Fb";
  const paths = ["", "&cursor=c1", "&cursor=c1", "&cursor=c1"].map(
    (more) => `/api/v1/partner/payments?${filter}${more}`,
  );
  expect(service.seen.map(({ url, isSigned }) => [url, isSigned])).toEqual(paths.map((path) => [path, true]));
});

test("client.cases sends several statuses as one filter, and rejects during its pause when the signal aborts", async () => {
  const page = (nextCursor: string | null) => ({ status: 200, body: { success: true, cases: [], nextCursor } });
  service.answerWith(page("c1"), page("c1"));
  const updatedSince = new Date("2026-11-20T00:00:00Z");
  const stop = new AbortController();
  const { signal } = stop;
  const walk = Array.fromAsync(aClient().cases({ status: ["collected", "closed"], updatedSince }, { signal }));
  const outcome = errorOf(walk);
  await expect.poll(() => service.seen.length).toBeGreaterThanOrEqual(2);
  const reason = new Error("The process is stopping.");
  stop.abort(reason);
  expect(await outcome).toBe(reason);
  expect(service.seen[1]!.url).toBe(
    "/api/v1/partner/cases?status=collected%2Cclosed&updatedSince=2026-11-20T00%3A00%3A00.000Z&cursor=c1",
  );
});

test("a retried replay keeps its signature, so that the service recognizes the retry", async () => {
  let nowMs = Date.now();
  service.answerWith("reset", { status: 202, body: { success: true, replayId: "replay_1", count: 2 } });
  const client = aClient({ now: () => (nowMs += 1_000) });
  await client.replayDeliveries({ loan: "LN-1" }, { ratePerSecond: 10 });
  expect(new Set(service.seen.map(({ signature }) => signature)).size).toBe(1);
  expect(service.seen[1]).toMatchObject({ body: '{"loan":"LN-1","ratePerSecond":10}', isSigned: true });
});

test("the client reports a deprecated API version as a warning", async () => {
  const headers = { Deprecation: "@1795167667", Sunset: "Sat, 20 Nov 2027 00:00:00 GMT" };
  service.answerWith({ status: 200, body: { ok: true }, headers });
  const warnings: Warning[] = [];
  await aClient({ onWarning: (warning) => warnings.push(warning) }).health();
  expect(warnings).toMatchObject([{ code: "DEPRECATED", detail: expect.stringContaining("20 Nov 2027") as string }]);
});

test("debugSignature sends its request without a signature", async () => {
  service.answerWith({ status: 200, body: { success: true, diagnosis: [] } });
  const request = { method: "GET", path: "/x", timestamp: "1", signature: "ab" };
  await aClient().debugSignature(request);
  expect(service.seen[0]!.headers).not.toHaveProperty("x-service-signature");
  expect(service.seen[0]!.headers.authorization).toBe(`Bearer ${KEY_ID}`);
});

test("the client signs the path prefix of the base URL too", async () => {
  service.answerWith({ status: 200, body: { ok: true } });
  await aClient({ baseUrl: `${service.url}/collections/` }).health();
  expect(service.seen[0]).toMatchObject({ url: "/collections/api/v1/partner/health", isSigned: true });
});

test.each([".", "..", "", "\ud800"])(
  "the client rejects the loan number %j, which cannot be part of a path",
  async (loan) => {
    await expect(aClient().getCase(loan)).rejects.toThrow("cannot be part of a path");
  },
);

test("the client sends loan numbers with special characters unchanged, percent-encoded in the path", async () => {
  service.answerWith({ status: 200, body: { success: true } });
  const loans = ["MUM/2023/00123", "a b", "ü%2F", "x?y#z", "...", "'!()*~", "\\", "LN+1;,"];
  for (const loan of loans) await aClient().getCase(loan);
  const seen = service.seen.map(({ url, isSigned }) => [decodeURIComponent(url.split("/").at(-1)!), isSigned]);
  expect(seen).toEqual(loans.map((loan) => [loan, true]));
});

test.each(["collections.example", "ftp://x", "https://x/?a=b"])("the client rejects the base URL %s", (baseUrl) => {
  expect(() => aClient({ baseUrl })).toThrow("is invalid: expected a URL from the operator");
});

test("printing a client or its errors does not show the secret", async () => {
  service.answerWith(problem(401, "BAD_SIGNATURE"));
  const client = aClient();
  const error = await errorOf(client.health());
  expect(error).toBeInstanceOf(CollectionsError);
  const { inspect } = await import("node:util");
  expect(inspect([client, error], { depth: 10, showHidden: true })).not.toContain(SECRET);
});
