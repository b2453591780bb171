import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  connectedPair,
  type LenderRequest,
  type SimulatedAnswer,
  type SimulatedService,
} from "../tests/simulated-service.ts";
import { type OwnPayment, reconcileDay } from "./reconcile-day.ts";
import type { LenderTwin } from "./twin.ts";

const DAY = { from: "2026-11-20T18:30:00Z", to: "2026-11-21T18:30:00Z" };
const LISTS = { onlyOurs: [], referenceDiffers: [], amountDiffers: [], onOtherLoan: [], otherDay: [], reversed: [] };

let service: SimulatedService;
let twin: LenderTwin;

beforeAll(async () => {
  ({ service, twin } = await connectedPair());
});

afterAll(async () => {
  await twin.close();
  service.close();
});

beforeEach(() => {
  service.requests.length = 0;
});

function aPayment(reference: string, paidAt = "2026-11-21T06:30:00Z"): OwnPayment {
  const payment = { reference, amount: 10.5, paidAt };
  return { sourceLoanNumber: "LN-1", ...payment, body: JSON.stringify({ ...payment, mode: "neft" }) };
}

/** Answers reconciliations with a difference for each reference that is not confirmed yet. */
function answerMissing(...missing: string[]): (request: LenderRequest, attempt: number) => SimulatedAnswer {
  const open = new Set(missing);
  return ({ method, target, rawBody }) => {
    const { reference } = (rawBody === "" ? {} : JSON.parse(rawBody)) as { reference?: string };
    if (target.endsWith("/confirm")) return { status: open.delete(reference!) ? 200 : 409, body: { success: true } };
    const onlyYours = [...open].map((one) => ({ loan: "LN-1", reference: one, confirm: { method: "POST" } }));
    const run = { runId: method === "GET" ? target.split("/").at(-1) : "rec_1", clean: open.size === 0, counts: {} };
    return { status: 200, body: { ...run, ...LISTS, onlyYours } };
  };
}

function reconcile(...payments: OwnPayment[]) {
  return reconcileDay(twin, payments, DAY, { giveUpAfterMs: 60_000, signal: new AbortController().signal });
}

describe("reconcileDay", () => {
  test("confirms `onlyYours` with own bytes and compares again", async () => {
    service.answers = answerMissing("B");
    const day = await reconcile(aPayment("A"), aPayment("B"));
    expect(day).toMatchObject({
      first: { clean: false },
      confirmed: [{ payment: { reference: "B" }, answer: { status: 200 } }],
      last: { runId: "rec_1", clean: true },
    });
    expect(service.requests.map(({ method, target }) => `${method} ${target.replace("/api/v1/partner", "")}`)).toEqual([
      "POST /payments/reconcile",
      "POST /cases/LN-1/payments/confirm",
      "POST /payments/reconcile",
      "GET /payments/reconcile/rec_1",
    ]);
    expect(service.requests[1]!.rawBody).toBe(aPayment("B").body);
  });

  test("sends only the payments of the window", async () => {
    service.answers = answerMissing();
    const { confirmed } = await reconcile(aPayment("A", DAY.from), aPayment("B", DAY.to));
    expect(confirmed).toEqual([]);
    expect(JSON.parse(service.requests[0]!.rawBody)).toEqual({
      ...DAY,
      rows: [{ loan: "LN-1", reference: "A", amount: 10.5, paidAt: DAY.from }],
    });
  });

  test("repeats the same bytes while another run is compared", async () => {
    const answers = answerMissing();
    service.answers = (request, attempt) =>
      attempt === 1 ? { status: 429, body: { retryable: true }, headers: { "Retry-After": "0" } } : answers(request, 1);
    expect(await reconcile(aPayment("A"))).toMatchObject({ last: { clean: true } });
    expect(service.requests[1]!.rawBody).toBe(service.requests[0]!.rawBody);
  });

  test("confirms no payment without a case or a capture", async () => {
    const run = { runId: "rec_1", clean: false, counts: {}, ...LISTS };
    const onlyYours = [
      { loan: "LN-1", reference: "A", confirm: null },
      { loan: "LN-1", reference: "B", confirm: {} },
    ];
    service.answers = () => ({ status: 200, body: { ...run, onlyYours } });
    expect(await reconcile(aPayment("A"))).toMatchObject({ confirmed: [], last: { clean: false } });
  });

  test("fails if the service rejects the rows", async () => {
    service.answers = () => ({ status: 422, body: { code: "TOO_MANY_ROWS" } });
    await expect(reconcile(aPayment("A"))).rejects.toThrow(/POST payments\/reconcile was answered 422.*TOO_MANY_ROWS/);
  });
});
