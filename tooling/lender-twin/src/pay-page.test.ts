import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectedPair, post, type SimulatedService } from "../tests/simulated-service.ts";
import { NoFinalAnswerError } from "./until-answered.ts";
import { NothingToPayError, UnknownLinkError } from "./pay-desk.ts";
import type { LenderTwin } from "./twin.ts";

let service: SimulatedService;
let twin: LenderTwin;
let linkId: string;

beforeEach(async () => {
  ({ service, twin } = await connectedPair());
  linkId = await aLink();
});

afterEach(async () => {
  await twin.close();
  service.close();
});

describe("the pay page", () => {
  test("shows amount, borrower and description, escaped for HTML", async () => {
    const html = await (await fetch(twin.payUrl(linkId))).text();
    expect(html).toContain("INR 1250.50");
    expect(html).toContain("Asha &lt;b&gt;Rao&lt;/b&gt;");
    expect(html).not.toContain("<b>Rao");
  });

  test("captures the money and confirms it to the service", async () => {
    const page = await fetch(twin.payUrl(linkId), { method: "POST" });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("Thank you");
    await twin.waitFor(() => twin.captures[0]?.state === "booked");
    const [request] = service.requests;
    expect(request).toMatchObject({ target: "/api/v1/partner/cases/LN%2F1/payments/confirm", distrust: null });
    expect(JSON.parse(request?.rawBody ?? "")).toEqual({
      amount: 1250.5,
      reference: expect.stringMatching(/^pay_/),
      paidAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      mode: "upi",
      linkId,
    });
  });

  test("captures a part, then shows and captures the rest", async () => {
    const page = await fetch(twin.payUrl(linkId), { method: "POST", body: new URLSearchParams({ amount: "1000" }) });
    expect(await page.text()).toContain("INR 250.50");
    await fetch(twin.payUrl(linkId), { method: "POST" });
    await twin.settled();
    expect(twin.captures.map(({ amount }) => amount)).toEqual([1000, 250.5]);
    expect(twin.captures.map(({ state }) => state)).toEqual(["booked", "booked"]);
  });

  test("asks again if the amount is invalid", async () => {
    for (const amount of ["", "-5", "0", "1.234", "ten"]) {
      const page = await fetch(twin.payUrl(linkId), { method: "POST", body: new URLSearchParams({ amount }) });
      expect(page.status).toBe(422);
    }
    expect(twin.captures).toHaveLength(0);
  });

  test("rejects unknown links and other methods", async () => {
    expect((await fetch(twin.payUrl("plink_unknown"))).status).toBe(404);
    expect((await fetch(twin.payUrl(linkId), { method: "DELETE" })).status).toBe(405);
  });
});

describe("a payment", () => {
  test("resolves with the service's answer to its confirmation", async () => {
    service.answers = () => ({ status: 200, body: { success: true, outstandingAfter: 0 } });
    expect(await twin.pay(linkId)).toMatchObject({ status: 200, body: { outstandingAfter: 0 } });
    expect(twin.captures).toMatchObject([{ state: "booked", attempts: 1 }]);
  });

  test("is confirmed with the same bytes and a new signature until the service answers", async () => {
    service.answers = (_request, attempt) => {
      if (attempt === 1) return "reset";
      if (attempt === 2) return { status: 503, body: { retryable: true } };
      if (attempt === 3) return { status: 429, body: { retryable: true }, headers: { "Retry-After": "0" } };
      return { status: 200, body: { success: true } };
    };
    expect(await twin.pay(linkId)).toMatchObject({ status: 200 });
    expect(new Set(service.requests.map(({ rawBody }) => rawBody)).size).toBe(1);
    expect(new Set(service.requests.map(({ headers }) => headers["x-service-signature"])).size).toBe(4);
    expect(service.requests.map(({ distrust }) => distrust)).toEqual([null, null, null, null]);
    expect(twin.captures).toMatchObject([{ state: "booked", attempts: 4 }]);
  });

  test("is booked if the answer was lost and the retry is a duplicate", async () => {
    service.answers = (_request, attempt) =>
      attempt === 1 ? "reset" : { status: 409, body: { code: "DUPLICATE_CONFIRMATION", original: {} } };
    expect(await twin.pay(linkId)).toMatchObject({ status: 409 });
    expect(twin.captures).toMatchObject([{ state: "booked", attempts: 2 }]);
  });

  test("is refused at once if the service rejects it", async () => {
    service.answers = () => ({ status: 422, body: { code: "VALIDATION_FAILED", retryable: false } });
    expect(await twin.pay(linkId)).toMatchObject({ status: 422 });
    expect(twin.captures).toMatchObject([{ state: "refused", attempts: 1 }]);
  });

  test("rejects with the service's last answer if the service never gives a final answer", async () => {
    service.close();
    await twin.close();
    ({ service, twin } = await connectedPair({ confirmForMs: 150 }));
    linkId = await aLink();
    service.answers = () => ({ status: 500, body: "out of order" });
    const paying = twin.pay(linkId);
    await expect(paying).rejects.toThrow(NoFinalAnswerError);
    await expect(paying).rejects.toThrow("HTTP 500 out of order");
    expect(twin.captures).toMatchObject([{ state: "unconfirmed" }]);
  });

  test("can be captured first and confirmed later, repeatedly, with the same bytes", async () => {
    const capture = await twin.pay(linkId, { amount: 2000, mode: "card", confirm: false });
    expect(service.requests).toHaveLength(0);
    await twin.confirmCapture(capture);
    await twin.confirmCapture(capture);
    expect(service.requests.map(({ rawBody }) => rawBody)).toEqual([capture.body, capture.body]);
    expect(JSON.parse(capture.body)).toMatchObject({ amount: 2000, mode: "card" });
  });

  test("can have been captured earlier than it is confirmed", async () => {
    await twin.pay(linkId, { paidAt: new Date("2026-11-20T09:40:55Z") });
    expect(JSON.parse(service.requests[0]!.rawBody)).toMatchObject({ paidAt: "2026-11-20T09:40:55.000Z" });
  });

  test("needs an existing link, and an amount to pay", async () => {
    await expect(twin.pay("plink_unknown")).rejects.toThrow(UnknownLinkError);
    await twin.pay(linkId);
    await expect(twin.pay(linkId)).rejects.toThrow(NothingToPayError);
    expect(await twin.pay(linkId, { amount: 100 })).toMatchObject({ status: 200 });
  });
});

async function aLink(): Promise<string> {
  const request = {
    sourceLoanNumber: "LN/1",
    caseId: "case_1",
    visitId: "vis_1",
    amount: 1250.5,
    currency: "INR",
    borrowerName: "Asha <b>Rao</b>",
    borrowerPhone: "+919800000001",
    description: "EMI",
  };
  const headers = { [twin.mintAuth.name]: twin.mintAuth.value, "Idempotency-Key": "key-1" };
  const response = await post(twin.mintUrl, request, headers);
  return ((await response.json()) as { link: { linkId: string } }).link.linkId;
}
