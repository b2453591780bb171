import { describe, expect, test } from "vitest";
import {
  type CaseSnapshot,
  createReceiver,
  isEvent,
  type LoanEvent,
  type LoanUpdate,
  MemoryStorage,
  type ReceivedReport,
  type ReceiverOptions,
} from "../src/index.ts";
import { aState, anEvent, aWebhook, KEY_ID, SECRET } from "./signed-webhook.ts";

const FIVE_MINUTES_MS = 5 * 60_000;

function aReceiver(options: Partial<ReceiverOptions<undefined>> = {}) {
  const [updates, late, reports, errors] = [[], [], [], []] as [LoanUpdate[], LoanEvent[], ReceivedReport[], unknown[]];
  const receiver = createReceiver<undefined>({
    secrets: { [KEY_ID]: SECRET },
    storage: new MemoryStorage(),
    client: { getCase: () => Promise.reject(new Error("getCase was called although no event is missing.")) },
    apply: (update) => void updates.push(update),
    applyLate: (event) => void late.push(event),
    onReceived: (report) => reports.push(report),
    onError: (error) => errors.push(error),
    ...options,
  });
  return { ...receiver, updates, late, reports, errors };
}

function aSnapshot(loan: string, sequence: number): CaseSnapshot {
  const state = aState(loan, sequence);
  const amounts = { totalCollected: String(state.totalCollected), outstandingAfter: String(state.outstandingAfter) };
  return { ...state, ...amounts } as unknown as CaseSnapshot;
}

describe("the receiver rejects, without applying anything:", () => {
  const event = anEvent("LN-1", 1);
  const tampered = { ...aWebhook(event), body: aWebhook(anEvent("LN-1", 1, { status: "closed" })).body };
  const without = (name: string) => {
    const { [name]: _, ...headers } = aWebhook(event).headers;
    return { ...aWebhook(event), headers };
  };
  test.each([
    ["a wrong secret", aWebhook(event, { secret: "sk_sandbox_other" }), 401, "BAD_SIGNATURE"],
    ["a body that was changed", tampered, 401, "BAD_SIGNATURE"],
    ["another path", { ...aWebhook(event), path: "/hooks/other" }, 401, "BAD_SIGNATURE"],
    ["an unknown key", aWebhook(event, { keyId: "lk_other" }), 401, "UNKNOWN_KEY"],
    ["a key id that is the name of an object's method", aWebhook(event, { keyId: "constructor" }), 401, "UNKNOWN_KEY"],
    [
      "a timestamp in the past",
      aWebhook(event, { timestampMs: Date.now() - FIVE_MINUTES_MS - 2_000 }),
      401,
      "TIMESTAMP_OUT_OF_RANGE",
    ],
    [
      "a timestamp in the future",
      aWebhook(event, { timestampMs: Date.now() + FIVE_MINUTES_MS + 60_000 }),
      401,
      "TIMESTAMP_OUT_OF_RANGE",
    ],
    ["no key id", without("x-service-key-id"), 401, "MISSING_KEY_ID"],
    ["no timestamp", without("x-service-timestamp"), 401, "MISSING_TIMESTAMP"],
    ["no signature", without("x-service-signature"), 401, "MISSING_SIGNATURE"],
    ["another method", aWebhook(event, { method: "PUT" }), 405, "METHOD_NOT_ALLOWED"],
    ["a body of 65 KiB", aWebhook(anEvent("LN-1", 1, { data: "x".repeat(65 * 1024) })), 413, "PAYLOAD_TOO_LARGE"],
    ["a body that is not JSON", aWebhook("{"), 400, "MALFORMED_EVENT"],
    ["a body that is not a JSON object", aWebhook("[]"), 400, "MALFORMED_EVENT"],
    ["no eventId", aWebhook({ kind: "ping" }), 400, "MALFORMED_EVENT"],
    ["a loan without a sequence", aWebhook(anEvent("LN-1", 0)), 400, "MALFORMED_EVENT"],
    ["a newer version", aWebhook(anEvent("LN-1", 1, { version: 2 })), 501, "UNKNOWN_VERSION"],
  ])("%s", async (_, request, status, code) => {
    const { receive, updates, late, reports } = aReceiver();
    expect(await receive(request)).toMatchObject({ status, body: { received: false, code } });
    expect([updates, late, reports]).toEqual([[], [], []]);
  });
});

test("the receiver accepts a timestamp up to five minutes in the past or the future", async () => {
  const { receive } = aReceiver();
  for (const distanceMs of [-FIVE_MINUTES_MS + 30_000, FIVE_MINUTES_MS - 30_000]) {
    const request = aWebhook({ eventId: "evt_1", kind: "ping" }, { timestampMs: Date.now() + distanceMs });
    expect((await receive(request)).status).toBe(200);
  }
});

test("the receiver accepts both API keys during a key rotation, also if a function reads their secrets from a vault", async () => {
  const secrets = new Map([
    ["lk_old", "sk_old"],
    ["lk_new", "sk_new"],
  ]);
  const ofRecord = aReceiver({ secrets: Object.fromEntries(secrets) });
  const ofVault = aReceiver({ secrets: async (keyId) => secrets.get(keyId) });
  for (const { receive } of [ofRecord, ofVault]) {
    for (const [keyId, secret] of secrets) {
      expect((await receive(aWebhook({ eventId: "evt_1", kind: "ping" }, { keyId, secret }))).status).toBe(200);
    }
    expect((await receive(aWebhook({ eventId: "e", kind: "ping" }, { keyId: "lk_x", secret: "sk_x" }))).status).toBe(
      401,
    );
  }
});

test("the receiver verifies against the option `path` if a proxy changes the path", async () => {
  const { receive } = aReceiver({ path: "/public/hooks" });
  const request = aWebhook({ eventId: "evt_1", kind: "ping" }, { path: "/public/hooks" });
  expect((await receive({ ...request, path: "/hooks" })).status).toBe(200);
});

test("the receiver acknowledges a ping and events of unknown kinds without a loan", async () => {
  const { receive, reports, updates } = aReceiver();
  const none = { sourceLoanNumber: null, sequence: null, version: 1 };
  expect((await receive(aWebhook({ eventId: "evt_1", kind: "ping", test: true, ...none }))).status).toBe(200);
  expect((await receive(aWebhook({ eventId: "evt_2", kind: "lender.greeted", ...none }))).status).toBe(200);
  expect(reports.map(({ outcome }) => outcome)).toEqual(["ping", "ignored"]);
  expect(updates).toEqual([]);
});

test("the receiver applies an event of an unknown kind, because it contains the loan's state", async () => {
  const { receive, updates } = aReceiver();
  expect((await receive(aWebhook(anEvent("LN-1", 1, { kind: "case.polished" })))).status).toBe(200);
  expect(updates).toMatchObject([{ state: { sequence: 1 }, event: { kind: "case.polished" } }]);
});

test("the receiver applies each event once, with exact amounts", async () => {
  const { receive, updates, reports } = aReceiver();
  const text = JSON.stringify(anEvent("LN-1", 1)).replace('"amount":10.1', '"amount":90071992547409.93');
  for (let time = 0; time < 3; time += 1) expect((await receive(aWebhook(text))).status).toBe(200);
  expect(updates).toHaveLength(1);
  const [{ event, state }] = updates as [LoanUpdate];
  expect(state).toEqual({ ...aState("LN-1", 1), totalCollected: "10.1", outstandingAfter: "9989.9" });
  expect(isEvent(event, "payment.collected") && event.data.amount).toBe("90071992547409.93");
  expect(reports.map(({ outcome }) => outcome)).toEqual(["applied", "duplicate", "duplicate"]);
});

test("the receiver applies the reversal of a payment and the reopened case once, with the lower total", async () => {
  const { receive, updates } = aReceiver();
  const open = { totalCollected: 0, outstandingAfter: 10_000 };
  const cleared = { status: "collected", totalCollected: 10_000, outstandingAfter: 0 };
  const of = { reference: "pay_2", reversalReference: "rev_1" };
  const money = { amount: 10_000, reason: "bounced", reversedAt: "2026-11-21T10:00:00Z", totalReversed: 10_000 };
  const where = { caseId: "case_LN-1", cycle: 1, inBalance: false, excessAmount: 0 };
  const closing = { closeReason: "paid_in_full", reference: "pay_2" };
  const events = [
    anEvent("LN-1", 1, cleared),
    anEvent("LN-1", 2, { ...cleared, kind: "case.closed", data: closing }),
    anEvent("LN-1", 3, { ...open, kind: "payment.reversed", data: { ...of, ...money, ...where } }),
    anEvent("LN-1", 4, { ...open, kind: "case.reopened", data: { ...of, fieldPartner: null } }),
  ];
  for (const event of [...events, events[2]!, events[1]!, events[3]!]) {
    expect((await receive(aWebhook(event))).status).toBe(200);
  }
  const applied = updates.map(({ event: { kind }, state: { status, totalCollected } }) => [
    kind,
    status,
    totalCollected,
  ]);
  expect(applied).toEqual([
    ["payment.collected", "collected", "10000"],
    ["case.closed", "collected", "10000"],
    ["payment.reversed", "in_progress", "0"],
    ["case.reopened", "in_progress", "0"],
  ]);
  const { event } = updates[2]!;
  expect(isEvent(event, "payment.reversed") && [event.data.amount, event.data.reversalReference]).toEqual([
    "10000",
    "rev_1",
  ]);
});

test("the receiver reads and applies the case if events are missing, and treats those events as late when they arrive", async () => {
  const reads: string[] = [];
  const { receive, updates, late, reports } = aReceiver({
    client: {
      getCase: async (loan) => {
        reads.push(loan);
        return aSnapshot(loan, 5);
      },
    },
  });
  for (const sequence of [1, 4, 2, 5, 3, 2, 6]) await receive(aWebhook(anEvent("LN-1", sequence)));
  expect(reads).toEqual(["LN-1"]);
  expect(updates.map(({ state, event }) => [event.sequence, state.sequence])).toEqual([
    [1, 1],
    [4, 5],
    [6, 6],
  ]);
  expect(updates[1]!.snapshot).toMatchObject({ sequence: 5 });
  expect(late.map(({ sequence }) => sequence)).toEqual([2, 5, 3]);
  expect(reports.map(({ outcome }) => outcome)).toEqual([
    "applied",
    "healed",
    "late",
    "late",
    "late",
    "duplicate",
    "applied",
  ]);
});

test.each([
  ["cannot be read", () => Promise.reject(new Error("ECONNREFUSED")), "CASE_NOT_READ"],
  ["is older than the event", (loan: string) => Promise.resolve(aSnapshot(loan, 2)), "CASE_TOO_OLD"],
  ["is that of another loan", () => Promise.resolve(aSnapshot("LN-2", 9)), "CASE_TOO_OLD"],
])(
  "the receiver applies nothing and asks for a retry if events are missing and the case %s",
  async (_, getCase, code) => {
    const { receive, updates, errors } = aReceiver({ client: { getCase } });
    expect(await receive(aWebhook(anEvent("LN-1", 3)))).toMatchObject({ status: 503, body: { code } });
    expect(updates).toEqual([]);
    expect(errors).toMatchObject([{ code }]);
  },
);

test("the receiver processes other deliveries while it reads a case, and does not overwrite a newer state with that case", async () => {
  let answer: (snapshot: CaseSnapshot) => void = () => {};
  const reads = [new Promise<CaseSnapshot>((resolve) => (answer = resolve)), Promise.resolve(aSnapshot("LN-1", 7))];
  const { receive, updates, late } = aReceiver({ client: { getCase: () => reads.shift()! } });
  const slow = receive(aWebhook(anEvent("LN-1", 3)));
  await expect.poll(() => reads.length).toBe(1);
  expect((await receive(aWebhook(anEvent("LN-1", 6)))).status).toBe(200);
  answer(aSnapshot("LN-1", 3));
  expect((await slow).status).toBe(200);
  expect(updates.map(({ state }) => state.sequence)).toEqual([7]);
  expect(late.map(({ sequence }) => sequence)).toEqual([3]);
});

test("the receiver answers 500 without the reason if apply fails, and applies the event when it is sent again", async () => {
  const applied: number[] = [];
  let isBroken = true;
  const { receive, errors } = aReceiver({
    apply: ({ state }) => {
      if (isBroken) throw new Error("relation borrowers_2 does not exist");
      applied.push(state.sequence);
    },
  });
  const answer = await receive(aWebhook(anEvent("LN-1", 1)));
  expect(answer).toMatchObject({ status: 500, body: { code: "NOT_APPLIED" } });
  expect(JSON.stringify(answer)).not.toContain("borrowers_2");
  expect(errors).toMatchObject([{ message: "relation borrowers_2 does not exist" }]);
  isBroken = false;
  expect((await receive(aWebhook(anEvent("LN-1", 1)))).status).toBe(200);
  expect(applied).toEqual([1]);
});

test("an error of onReceived does not make the service send an applied event again", async () => {
  const { receive, errors } = aReceiver({
    onReceived: () => {
      throw new Error("disk full");
    },
  });
  expect((await receive(aWebhook(anEvent("LN-1", 1)))).status).toBe(200);
  expect(errors).toMatchObject([{ message: "disk full" }]);
});

test("a slow apply of one loan does not delay another loan", async () => {
  let finish: () => void = () => {};
  const slow = new Promise<void>((resolve) => (finish = resolve));
  const { receive } = aReceiver({ apply: ({ state }) => (state.sourceLoanNumber === "LN-1" ? slow : undefined) });
  const waiting = receive(aWebhook(anEvent("LN-1", 1)));
  expect((await receive(aWebhook(anEvent("LN-2", 1)))).status).toBe(200);
  finish();
  expect((await waiting).status).toBe(200);
});
