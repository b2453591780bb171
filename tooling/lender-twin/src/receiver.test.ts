import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectedPair, post, type SimulatedAnswer, type SimulatedService } from "../tests/simulated-service.ts";
import type { WebhookEvent } from "./loan-view.ts";
import { NotSeenError } from "./waiting.ts";
import type { LenderTwin } from "./twin.ts";

let service: SimulatedService;
let twin: LenderTwin;

beforeEach(async () => {
  ({ service, twin } = await connectedPair());
});

afterEach(async () => {
  await twin.close();
  service.close();
});

describe("an event", () => {
  test("is acknowledged, recorded with its delivery, and applied to the loan", async () => {
    const response = await deliver(payment(1, 2500), { "X-Service-Attempt": "2" });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ received: true });
    await twin.waitForEvents((events) => events.length === 1);
    expect(twin.events[0]).toMatchObject({ eventId: "evt_1", kind: "payment.collected", sequence: 1, attempt: 2 });
    expect(twin.events[0]?.headers["x-service-event"]).toBe("payment.collected");
    expect(Math.abs(Date.now() - (twin.events[0]?.receivedAt ?? 0))).toBeLessThan(60_000);
    expect(twin.loans.get("LN-1")).toEqual({
      sourceLoanNumber: "LN-1",
      caseId: "case_1",
      status: "in_progress",
      currency: "INR",
      totalCollected: 2500,
      outstandingAfter: 2500,
      sequence: 1,
    });
  });

  test("without a loan is acknowledged and changes no loan", async () => {
    const ping = { eventId: "evt_p", kind: "ping", sourceLoanNumber: null, sequence: null, test: true };
    expect((await deliver(ping)).status).toBe(200);
    expect(twin.events).toHaveLength(1);
    expect(twin.loans.size).toBe(0);
  });

  test("that is sent again is acknowledged as a duplicate and applied once", async () => {
    await deliver(payment(1, 2500));
    const again = await deliver(payment(1, 2500), { "X-Service-Attempt": "2" });
    expect(await again.json()).toEqual({ duplicate: true });
    expect(twin.events).toHaveLength(1);
    expect(twin.deliveries.map(({ outcome }) => outcome)).toEqual(["accepted", "duplicate"]);
  });

  test("whose record was dropped is still recognized as a duplicate", async () => {
    await deliver(payment(1, 2500));
    await twin.waitForEvents((events) => events.length === 1);
    expect(twin.forgetDeliveries()).toEqual(["evt_1"]);
    expect([twin.events, twin.deliveries, twin.forgetDeliveries()]).toEqual([[], [], []]);
    expect(await (await deliver(payment(1, 2500))).json()).toEqual({ duplicate: true });
    expect(twin.events).toEqual([]);
    expect(twin.loans.get("LN-1")).toMatchObject({ sequence: 1 });
  });

  test("signed with a newer key is accepted after the lender got that key", async () => {
    const forged = { secret: "sk_sandbox_newer" };
    expect((await deliver(payment(1, 1), { "X-Service-Key-Id": "lk_newer" }, forged)).status).toBe(401);
    twin.connect({ apiKeyId: "lk_newer", hmacSecret: "sk_sandbox_newer" });
    expect((await deliver(payment(1, 1), { "X-Service-Key-Id": "lk_newer" }, forged)).status).toBe(200);
    expect((await deliver(payment(2, 2))).status).toBe(200);
  });
});

describe("a delivery is rejected with an empty 401 if", () => {
  test.each([
    ["its body was changed on the way", {}, { sentBody: JSON.stringify(payment(1, 9999)) }],
    ["it was signed with another secret", {}, { secret: "sk_sandbox_other" }],
    ["it is more than five minutes old", {}, { timestamp: String(Date.now() - 301_000) }],
    ["it is more than five minutes ahead", {}, { timestamp: String(Date.now() + 310_000) }],
    ["its timestamp is in seconds", {}, { timestamp: String(Math.trunc(Date.now() / 1000)) }],
    ["its signature is not hexadecimal", { "X-Service-Signature": "sha256=abc" }, {}],
  ])("%s", async (_when, headers, forged) => {
    const response = await deliver(payment(1, 2500), headers, forged);
    expect(response.status).toBe(401);
    expect(await response.text()).toBe("");
    expect(twin.rejected).toHaveLength(1);
    expect(twin.events).toHaveLength(0);
    expect(twin.loans.size).toBe(0);
  });
});

test.each([
  ["is not JSON", "{oops", {}],
  ["has no eventId", { kind: "ping" }, {}],
  ["has another kind than the header X-Service-Event", payment(1, 1), { "X-Service-Event": "case.closed" }],
  ["has another event id than the header X-Service-Delivery", payment(1, 1), { "X-Service-Delivery": "evt_2" }],
  ["has a loan without a sequence", { ...payment(1, 1), sequence: null }, {}],
])("a correctly signed body that %s is rejected with 400", async (_fault, body, headers) => {
  expect((await deliver(body as WebhookEvent, headers)).status).toBe(400);
  expect(twin.rejected).toMatchObject([{ status: 400 }]);
});

describe("the state of a loan", () => {
  test("is not changed by a late older event, which is acknowledged", async () => {
    service.answers = () => ({ status: 200, body: payment(2, 3000) });
    await deliver(payment(2, 3000));
    await deliver(payment(1, 1000));
    await twin.settled();
    expect(twin.events.map(({ sequence }) => sequence)).toEqual([2, 1]);
    expect(twin.loans.get("LN-1")).toMatchObject({ sequence: 2, totalCollected: 3000 });
  });

  test("is taken from the case after a gap", async () => {
    service.answers = () => ({ status: 200, body: { ...payment(4, 5000), status: "collected" } });
    await deliver(payment(1, 1000));
    await deliver(payment(3, 4000));
    await deliver(payment(4, 5000));
    await twin.settled();
    expect(service.requests).toMatchObject([{ method: "GET", target: "/api/v1/partner/cases/LN-1", distrust: null }]);
    expect(twin.loans.get("LN-1")).toMatchObject({ sequence: 4, totalCollected: 5000, status: "collected" });
    expect(twin.gaps).toEqual([{ sourceLoanNumber: "LN-1", lastApplied: 1, sequence: 3, healedBy: "snapshot" }]);
  });

  test("is taken from the event itself if the case cannot be read", async () => {
    service.answers = (_request, attempt) => (attempt === 1 ? "reset" : { status: 503 });
    await deliver(payment(2, 2000));
    await deliver(payment(4, 4000));
    await twin.settled();
    expect(twin.loans.get("LN-1")).toMatchObject({ sequence: 4, totalCollected: 4000 });
    expect(twin.gaps.map(({ healedBy }) => healedBy)).toEqual(["event", "event"]);
  });

  test("does not go back to a snapshot that is older than the event", async () => {
    service.answers = () => ({ status: 200, body: payment(1, 1000) });
    await deliver(payment(3, 3000));
    await twin.settled();
    expect(twin.loans.get("LN-1")).toMatchObject({ sequence: 3, totalCollected: 3000 });
  });

  test("follows a reversal that reopens the case: the collected total falls, and repeats change nothing", async () => {
    const paid = { ...payment(1, 5000), status: "collected" };
    const closed = { ...paid, eventId: "evt_2", kind: "case.closed", sequence: 2 };
    const reversed = { ...payment(3, 2000), kind: "payment.reversed" };
    const reopened = { ...payment(4, 2000), kind: "case.reopened" };
    for (const event of [paid, closed, reversed, reopened, reversed, closed, reopened]) await deliver(event);
    await twin.settled();
    expect(twin.events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    expect(twin.loans.get("LN-1")).toMatchObject({
      sequence: 4,
      status: "in_progress",
      totalCollected: 2000,
      outstandingAfter: 3000,
    });
    expect(twin.gaps).toEqual([]);
  });

  test("waits for the case after a gap, while events of other loans are applied", async () => {
    const { promise, resolve: answerTheFetch } = Promise.withResolvers<SimulatedAnswer>();
    service.answers = () => promise;
    await deliver(payment(2, 2000));
    await deliver(payment(3, 3000));
    await deliver({ ...payment(1, 700), eventId: "evt_other", sourceLoanNumber: "LN-2" });
    await twin.waitFor(() => twin.loans.has("LN-2"));
    expect(twin.loans.has("LN-1")).toBe(false);
    answerTheFetch({ status: 200, body: payment(2, 2000) });
    await twin.waitForEvents((events) => events.length === 3);
    expect(twin.loans.get("LN-1")).toMatchObject({ sequence: 3, totalCollected: 3000 });
  });
});

describe("receiverBehaviour", () => {
  test.each([
    ["error500", 500],
    ["status:410", 410],
    ["redirect", 302],
  ] as const)(
    "in the mode `%s`, the receiver answers %i and records no event, so that a retry is accepted",
    async (behaviour, status) => {
      twin.receiverBehaviour = behaviour;
      expect((await deliver(payment(1, 1))).status).toBe(status);
      twin.receiverBehaviour = "ok";
      expect(await (await deliver(payment(1, 1))).json()).toEqual({ received: true });
      expect(twin.deliveries.map(({ outcome }) => outcome)).toEqual(["refused", "accepted"]);
      expect(twin.events).toHaveLength(1);
    },
  );

  test("in the modes `reset`, `hang` and `drip`, the sender gets no complete answer", async () => {
    twin.receiverBehaviour = "reset";
    await expect(deliver(payment(1, 1))).rejects.toThrow("fetch failed");
    twin.receiverBehaviour = "hang";
    await expect(givenUp(1)).rejects.toThrow("gives up");
    expect(twin.events).toHaveLength(0);
    twin.receiverBehaviour = "drip";
    const dripping = await deliver(payment(1, 1));
    expect(dripping.status).toBe(200);
    const drips = dripping.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await drips?.read()).toEqual({ done: false, value: "{" });
    expect(await drips?.read()).toEqual({ done: false, value: " " });
    await drips?.cancel();
    expect(twin.events).toHaveLength(1);
  });

  test("in the mode `lost`, the receiver records the event but sends no answer, so the next delivery is a duplicate", async () => {
    twin.receiverBehaviour = "lost";
    await expect(deliver(payment(1, 1))).rejects.toThrow("fetch failed");
    twin.receiverBehaviour = "ok";
    expect(await (await deliver(payment(1, 1))).json()).toEqual({ duplicate: true });
    expect(twin.events).toHaveLength(1);
  });

  test("`unanswered` lists a delivery only if the sender closed the connection", async () => {
    twin.receiverBehaviour = "reset";
    await expect(deliver(payment(1, 1))).rejects.toThrow("fetch failed");
    twin.receiverBehaviour = "ok";
    await deliver(payment(1, 1));
    twin.receiverBehaviour = "hang";
    await expect(givenUp(2)).rejects.toThrow("gives up");
    await twin.waitFor(() => twin.unanswered.length === 1);
    expect(twin.underWay.size).toBe(0);
    expect(twin.unanswered).toMatchObject([{ eventId: "evt_2", outcome: "refused" }]);
  });

  test("in the mode `slow`, the receiver answers late, but records the event at once", async () => {
    twin.receiverBehaviour = "slow:150";
    const startedAt = performance.now();
    const answered = deliver(payment(1, 1));
    await twin.waitForEvents((events) => events.length === 1);
    expect((await answered).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(140);
  });

  test("can be a function of the event", async () => {
    twin.receiverBehaviour = ({ kind, attempt }) => (kind === "payment.collected" && attempt === 1 ? "error500" : "ok");
    expect((await deliver(payment(1, 1), { "X-Service-Attempt": "1" })).status).toBe(500);
    expect((await deliver(payment(1, 1), { "X-Service-Attempt": "2" })).status).toBe(200);
  });
});

test("waitForEvents fails with the received events in its message", async () => {
  await deliver(payment(1, 2500));
  await deliver(payment(2, 2500), {}, { secret: "sk_other" });
  const waiting = twin.waitForEvents((events) => events.some(({ kind }) => kind === "case.closed"), 30);
  await expect(waiting).rejects.toThrow(NotSeenError);
  await expect(waiting).rejects.toThrow(/within 30 ms.*payment\.collected LN-1#1.*signature does not match/);
});

/** Sends an event that the twin does not answer, and closes the connection when the twin has read the event. */
async function givenUp(sequence: number): Promise<void> {
  const sender = new AbortController();
  const given = deliver(payment(sequence, 1), {}, { signal: sender.signal });
  await Promise.all([
    given,
    twin.waitFor(() => twin.underWay.size === 1).then(() => sender.abort(new Error("The sender gives up."))),
  ]);
}

function payment(sequence: number, totalCollected: number): WebhookEvent {
  return {
    eventId: `evt_${sequence}`,
    kind: "payment.collected",
    sourceLoanNumber: "LN-1",
    caseId: "case_1",
    sequence,
    status: "in_progress",
    currency: "INR",
    totalCollected,
    outstandingAfter: 5000 - totalCollected,
  };
}

function deliver(
  event: object | string,
  headers: Record<string, string> = {},
  forged: Parameters<typeof post>[3] = {},
): Promise<Response> {
  const { kind, eventId } = event as Partial<WebhookEvent>;
  const names = { "X-Service-Event": String(kind), "X-Service-Delivery": String(eventId) };
  return post(twin.callbackUrl, event, { ...names, ...headers }, forged);
}
