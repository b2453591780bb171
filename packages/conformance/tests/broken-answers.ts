import { setTimeout as wait } from "node:timers/promises";
import type { Broken } from "./broken-lender.ts";
import { createMeeting } from "./meeting.ts";
import { type LenderEvent, lenderWith, type Received, TestLender } from "./test-lender.ts";

const right = TestLender.prototype;

/** Receivers that fail on some bodies. */
export const BODIES: Broken[] = [
  {
    fault: "rejects unknown kinds",
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
    fault: "verifies the signature over the body decoded as Latin-1",
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
    fault: "fails on text that is not ASCII",
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
    fault: "closes the connection on a large body",
    lender: lenderWith({
      intercept(request, response) {
        if (request.rawBody.length > 10_240) response.socket?.resetAndDestroy();
        return request.rawBody.length > 10_240;
      },
    }),
    caughtBy: "large-body",
  },
  { fault: "limits the rate", lender: limited(30), caughtBy: "burst" },
  {
    fault: "loses events that arrive at the same time",
    lender: overwriting(),
    caughtBy: "burst",
    run: { withState: true },
  },
];

/** Receivers that answer every request wrongly. */
export const ANSWERS: Broken[] = [
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
    fault: "uses another secret",
    lender: lenderWith({ secretOf: () => "sk_of_another_environment" }),
    caughtBy: "event",
    and: ["ping"],
  },
  {
    fault: "acknowledges events and does not store them",
    lender: lenderWith({ take: () => [200] }),
    caughtBy: "state",
    run: { withState: true },
  },
];

function limited(atOnce: number): TestLender {
  const underWay = new Map<Received, string>();
  let exceeded = Promise.withResolvers<void>();
  return lenderWith({
    async receive(request) {
      const body = request.rawBody.toString("utf8");
      const isRepeated = [...underWay.values()].includes(body);
      underWay.set(request, body);
      const isTooMany = underWay.size > atOnce;
      if (isTooMany) exceeded.resolve();
      // Events that are sent at once stay under way until there are too many of them. A single event is alone.
      await Promise.race([exceeded.promise, wait(underWay.size > 1 && !isRepeated ? 10_000 : 5)]);
      underWay.delete(request);
      if (underWay.size === 0) exceeded = Promise.withResolvers<void>();
      return isTooMany ? [429] : right.receive.call(this, request);
    },
  });
}

/** Keeps the current request in a variable that all requests share. */
function overwriting(): TestLender {
  let current: LenderEvent;
  const meet = createMeeting(50);
  return lenderWith({
    async take(event) {
      current = event;
      await meet();
      return right.take.call(this, current);
    },
  });
}
