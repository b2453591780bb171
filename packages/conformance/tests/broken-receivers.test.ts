import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CHECKS } from "../src/index.ts";
import { namesOf, runOn, type RunDetails } from "./run-on.ts";
import { type LenderEvent, lenderWith, type Received, TestLender, viewOf } from "./test-lender.ts";

const right = TestLender.prototype;
const ABOUT_SIGNATURES = ["wrong-signature", "malformed-signature", "missing-headers", "tampered-body", "exact-bytes"];
const ABOUT_TIME = ["changed-timestamp", "stale-timestamp", "future-timestamp"];

interface Broken {
  readonly fault: string;
  readonly lender: TestLender;
  /** The check that is meant for the fault. */
  readonly caughtBy: string;
  /** The others that fail with it, since they see the same fault. */
  readonly and?: readonly string[];
  readonly run?: RunDetails;
}

const SIGNATURES: Broken[] = [
  {
    fault: "ignores the signature",
    lender: lenderWith({ isGenuine: () => true }),
    caughtBy: "wrong-signature",
    and: [...ABOUT_SIGNATURES.slice(1), ...ABOUT_TIME],
  },
  {
    fault: "crashes on a signature of another length",
    lender: lenderWith({
      isSigned(secret, request, timestamp, signature) {
        if (signature.length !== 64) throw new RangeError("Input buffers must have the same byte length");
        return right.isSigned.call(this, secret, request, timestamp, signature);
      },
    }),
    caughtBy: "malformed-signature",
  },
  {
    fault: "checks the signature only where there is one",
    lender: lenderWith({
      isGenuine(request) {
        return request.headers["x-service-signature"] === undefined || right.isGenuine.call(this, request);
      },
    }),
    caughtBy: "missing-headers",
  },
  {
    fault: "signs what its parser printed again",
    lender: lenderWith({ signedBody: ({ rawBody }) => JSON.stringify(JSON.parse(rawBody.toString("utf8"))) }),
    caughtBy: "exact-bytes",
  },
  {
    fault: "signs the envelope without its amounts",
    lender: lenderWith({
      isSigned(secret, request, timestamp, signature) {
        const untampered = request.rawBody
          .toString("utf8")
          .replace('"outstandingAfter":5001', '"outstandingAfter":5000');
        return right.isSigned.call(
          this,
          secret,
          { ...request, rawBody: Buffer.from(untampered) },
          timestamp,
          signature,
        );
      },
    }),
    caughtBy: "tampered-body",
  },
  {
    fault: "ignores the age of a timestamp",
    lender: lenderWith({ isFresh: () => true }),
    caughtBy: "stale-timestamp",
    and: ["future-timestamp"],
  },
  {
    fault: "refuses old timestamps only",
    lender: lenderWith({ isFresh: (timestampMs) => Date.now() - timestampMs <= 300_000 }),
    caughtBy: "future-timestamp",
  },
  {
    fault: "allows a clock to be a minute off",
    lender: lenderWith({ isFresh: (timestampMs) => Math.abs(Date.now() - timestampMs) <= 60_000 }),
    caughtBy: "clock-tolerance",
  },
  {
    fault: "believes an old signature under a new timestamp",
    lender: believingOldSignatures(),
    caughtBy: "changed-timestamp",
  },
  {
    fault: "knows one secret",
    lender: lenderWith({ secretOf: () => right.secretOf("lk_first") }),
    caughtBy: "key-rotation",
  },
];

const ORDER: Broken[] = [
  {
    fault: "answers 500 to what it has",
    lender: lenderWith({
      take(event) {
        return this.seen.has(event.eventId) ? [500, "duplicate key value"] : right.take.call(this, event);
      },
    }),
    caughtBy: "duplicate",
    and: ["duplicate-at-once", "replay"],
  },
  {
    fault: "adds up amounts, also of duplicates",
    lender: lenderWith({
      take(event) {
        if (event.sourceLoanNumber !== null) this.apply(event.sourceLoanNumber, event);
        return [200];
      },
      apply(loan, event) {
        const held = this.views.get(loan);
        if (held?.sequence === event.sequence) this.views.set(loan, addedTo(held.totalCollected, event));
        else right.apply.call(this, loan, event);
      },
    }),
    caughtBy: "duplicate",
    and: ["duplicate-at-once"],
    run: { withState: true },
  },
  {
    fault: "looks first and inserts then",
    lender: lenderWith({
      async take(event) {
        const isKnown = this.seen.has(event.eventId);
        if (event.sequence === 2) await wait(100);
        if (isKnown) return [200];
        return this.seen.has(event.eventId) ? [500, "duplicate key value"] : right.take.call(this, event);
      },
    }),
    caughtBy: "duplicate-at-once",
  },
  {
    fault: "keeps an eventId before it checks the signature",
    lender: lenderWith({
      receive(request) {
        const { eventId } = JSON.parse(request.rawBody.toString("utf8")) as LenderEvent;
        if (this.seen.has(eventId)) return [200];
        if (!this.isGenuine(request)) this.seen.add(eventId);
        return right.receive.call(this, request);
      },
    }),
    caughtBy: "retry",
    run: { withState: true },
  },
  {
    fault: "lets the last that came win",
    lender: lenderWith({ apply: forgetfully }),
    caughtBy: "out-of-order",
    run: { withState: true },
  },
  {
    fault: "lets the last that came win, replays too",
    lender: lenderWith({
      take(event) {
        if (event.sourceLoanNumber !== null) forgetfully.call(this, event.sourceLoanNumber, event);
        return [200];
      },
    }),
    caughtBy: "replay",
    and: ["out-of-order"],
    run: { withState: true },
  },
  {
    fault: "adds up amounts over gaps",
    lender: lenderWith({
      apply(loan, event) {
        const held = this.views.get(loan);
        if (event.sequence > (held?.sequence ?? 0)) this.views.set(loan, addedTo(held?.totalCollected ?? 0, event));
      },
    }),
    caughtBy: "gap",
    and: ["out-of-order"],
    run: { withState: true },
  },
  {
    fault: "refuses an event after a gap",
    lender: lenderWith({
      take(event) {
        const held = this.views.get(event.sourceLoanNumber ?? "")?.sequence ?? 0;
        return event.sequence > held + 1 ? [409, "out of order"] : right.take.call(this, event);
      },
    }),
    caughtBy: "gap",
    and: ["out-of-order"],
  },
];

const BODIES: Broken[] = [
  {
    fault: "refuses kinds that it does not know",
    lender: lenderWith({
      take(event) {
        return event.kind === "case.audited" ? [422, "unknown kind"] : right.take.call(this, event);
      },
    }),
    caughtBy: "unknown-kind",
  },
  {
    fault: "has a strict schema",
    lender: lenderWith({
      take(event) {
        return "region" in event ? [400, "unknown field region"] : right.take.call(this, event);
      },
    }),
    caughtBy: "unknown-fields",
  },
  {
    fault: "signs the body decoded as Latin-1",
    lender: lenderWith({ signedBody: ({ rawBody }) => rawBody.toString("latin1") }),
    caughtBy: "utf8",
  },
  {
    fault: "stores the body decoded as Latin-1",
    lender: lenderWith({ decode: ({ rawBody }) => rawBody.toString("latin1") }),
    caughtBy: "utf8",
    run: { withState: true },
  },
  {
    fault: "chokes on what is not ASCII",
    lender: lenderWith({
      decode({ rawBody }) {
        if (rawBody.some((byte) => byte > 127)) throw new Error("'ascii' codec can't decode byte");
        return right.decode({ rawBody } as Received);
      },
    }),
    caughtBy: "utf8",
  },
  {
    fault: "limits the body to 10 KB",
    lender: lenderWith({
      receive(request) {
        return request.rawBody.length > 10_240 ? [413] : right.receive.call(this, request);
      },
    }),
    caughtBy: "large-body",
  },
  {
    fault: "hangs up on a large body",
    lender: lenderWith({
      intercept(request, response) {
        if (request.rawBody.length > 10_240) response.socket?.resetAndDestroy();
        return request.rawBody.length > 10_240;
      },
    }),
    caughtBy: "large-body",
  },
  { fault: "limits the rate", lender: limited(30), caughtBy: "burst" },
  { fault: "loses events that come together", lender: overwriting(), caughtBy: "burst", run: { withState: true } },
];

const ANSWERS: Broken[] = [
  {
    fault: "redirects",
    lender: lenderWith({ receive: () => [308, undefined, { Location: "https://www.lender.example/hooks" }] }),
    caughtBy: "no-redirect",
    and: ["ping", "event"],
  },
  {
    fault: "redirects the ping",
    lender: lenderWith({
      take(event) {
        return event.kind === "ping" ? [302, undefined, { Location: "/login" }] : right.take.call(this, event);
      },
    }),
    caughtBy: "ping",
    and: ["no-redirect"],
  },
  {
    fault: "answers too late",
    lender: lenderWith({ receive: () => wait(60_000, [200] as const, { ref: false }) }),
    caughtBy: "answer-time",
    and: ["ping", "event"],
    run: { timeoutMs: 300 },
  },
  {
    fault: "has another secret",
    lender: lenderWith({ secretOf: () => "sk_of_another_environment" }),
    caughtBy: "event",
    and: ["ping"],
  },
  {
    fault: "acknowledges and forgets",
    lender: lenderWith({ take: () => [200] }),
    caughtBy: "state",
    run: { withState: true },
  },
];

describe.each([
  ["signatures", SIGNATURES],
  ["order", ORDER],
  ["bodies", BODIES],
  ["answers", ANSWERS],
])("of %s", (_subject, variants) => {
  test.each(variants)("a receiver that $fault is caught by $caughtBy", async ({ lender, caughtBy, and = [], run }) => {
    const results = await runOn(lender, { endpoint: "receiver", withState: false, stateLagMs: 100, ...run });
    const failing = [caughtBy, ...and].map((name) => `receiver.${name}`);
    expect(namesOf(results, "FAIL").toSorted()).toEqual(failing.toSorted());
    for (const { findings } of results) {
      for (const { problem, mend } of findings) expect([problem, mend]).toEqual([SENTENCE, SENTENCE]);
    }
  });
});

test.each([400, 403])("a receiver that refuses with %s does no harm, and is warned", async (status) => {
  const lender = lenderWith({
    receive(request) {
      return this.isGenuine(request) ? right.receive.call(this, request) : [status];
    },
  });
  const results = await runOn(lender, { endpoint: "receiver", withState: false });
  const refusals = [...ABOUT_SIGNATURES, ...ABOUT_TIME].map((name) => `receiver.${name}`);
  expect([namesOf(results, "FAIL"), namesOf(results, "WARN").toSorted()]).toEqual([[], refusals.toSorted()]);
});

test("a clock that is far off is named", async () => {
  const lender = lenderWith({
    receive: () => [401, undefined, { Date: new Date(Date.now() - 3_600_000).toUTCString() }],
  });
  const [{ findings } = { findings: [] }] = await runOn(lender, { endpoint: "receiver" });
  expect(findings[0]?.mend).toMatch(/^Your server's clock is 60 minutes behind this machine's/);
});

test("each check is the one that is meant for a fault", () => {
  const variants = [...SIGNATURES, ...ORDER, ...BODIES, ...ANSWERS];
  const caught = new Set(variants.map(({ caughtBy }) => `receiver.${caughtBy}`));
  const names = CHECKS.map(({ name }) => name).filter((name) => name.startsWith("receiver."));
  // Those about reading the case are beside the lenders that read it.
  expect(names.filter((name) => !caught.has(name))).toEqual(["receiver.gap-healed"]);
});

const SENTENCE = expect.stringMatching(/^[A-Z0-9“].{10,400}\.$/su) as string;

function forgetfully(this: TestLender, loan: string, event: LenderEvent): void {
  this.views.set(loan, viewOf(event));
}

function addedTo(totalCollected: number, event: LenderEvent): ReturnType<typeof viewOf> {
  return { ...viewOf(event), totalCollected: totalCollected + (event.data.amount ?? 0) };
}

/** Believes a signature of ten minutes ago, whatever the timestamp that came with it. */
function believingOldSignatures(): TestLender {
  return lenderWith({
    isSigned(secret, request, timestamp, signature) {
      const isRight = (time: number) => right.isSigned.call(this, secret, request, String(time), signature);
      return isRight(Number(timestamp)) || isRight(Number(timestamp) - 600_000);
    },
  });
}

function limited(atOnce: number): TestLender {
  let underWay = 0;
  return lenderWith({
    async receive(request) {
      underWay += 1;
      const isTooMany = underWay > atOnce;
      await wait(underWay > 1 ? 200 : 5);
      underWay -= 1;
      return isTooMany ? [429] : right.receive.call(this, request);
    },
  });
}

/** Keeps the request that it works on in a variable of the process. */
function overwriting(): TestLender {
  let current: LenderEvent;
  return lenderWith({
    async take(event) {
      current = event;
      await wait(5);
      return right.take.call(this, current);
    },
  });
}
