import { describe, expect, test } from "vitest";
import { judgeEndpoint, type SuspensionVerdict } from "./suspension.ts";
import { Ready } from "../dispatch/ready.ts";
import type { LeasedDelivery } from "../dispatch/lease.ts";
import { Window } from "../dispatch/window.ts";

const now = new Date("2026-11-21T04:00:00Z");
const rule = { suspendAfter: 20, probeIntervalMs: 900_000 };

describe("the verdict on an endpoint", () => {
  test.each<["active" | "suspended", number, SuspensionVerdict["verdict"]]>([
    ["active", 0, "stay"],
    ["active", 19, "stay"],
    ["active", 20, "suspend"],
    ["active", 51, "suspend"],
    ["suspended", 25, "stay"],
    ["suspended", 1, "stay"],
    ["suspended", 0, "recover"],
  ])("%s with %i failures in a row: %s", (state, consecutiveFailures, verdict) => {
    expect(judgeEndpoint({ state, consecutiveFailures }, rule, now).verdict).toBe(verdict);
  });

  test("a suspension names its first probe, an interval from now", () => {
    expect(judgeEndpoint({ state: "active", consecutiveFailures: 20 }, rule, now)).toEqual({
      verdict: "suspend",
      suspendedAt: now,
      nextProbeAt: new Date("2026-11-21T04:15:00Z"),
    });
  });
});

describe("the window of an endpoint", () => {
  const arrived = { outcome: "delivered", answer: null, ownFault: false } as const;
  const hung = { outcome: "failed", answer: null, ownFault: false } as const;
  const answered = (status: number) => ({ ...hung, answer: { status, headers: {}, body: "" } });

  test("doubles with each round of answers, up to its maximum", () => {
    const window = new Window(32);
    window.seeRecovery(now);
    const rounds = Array.from({ length: 7 }, () => {
      const { limit } = window;
      for (let answer = 0; answer < limit; answer += 1) window.learn(arrived);
      return limit;
    });
    expect(rounds).toEqual([1, 2, 4, 8, 16, 32, 32]);
  });

  test("of a receiver that begins to hang is one slot after five of its 32 attempts", () => {
    const window = new Window(32);
    for (let answer = 0; answer < 32; answer += 1) window.learn(arrived);
    const limits = Array.from({ length: 6 }, () => {
      window.learn(hung);
      return window.limit;
    });
    expect(limits).toEqual([16, 8, 4, 2, 1, 1]);
  });

  test.each([500, 503, 429])("%i asks for less", (status) => {
    const window = new Window(32);
    window.learn(answered(status));
    expect(window.limit).toBe(2);
  });

  test.each([400, 404, 410, 302])("%i is about its event: nothing changes", (status) => {
    const window = new Window(32);
    window.learn(answered(status));
    expect(window.limit).toBe(4);
  });

  test("our own fault and an attempt that we gave up say nothing of the receiver", () => {
    const window = new Window(32);
    window.learn({ ...hung, ownFault: true });
    window.learn({ ...hung, outcome: "abandoned" });
    expect(window.limit).toBe(4);
  });

  test("begins again at one with each recovery, and once only", () => {
    const window = new Window(32);
    window.seeRecovery(null);
    for (let answer = 0; answer < 10; answer += 1) window.learn(arrived);
    window.seeRecovery(now);
    expect(window.limit).toBe(1);
    window.learn(arrived);
    window.seeRecovery(now);
    expect(window.limit).toBe(2);
  });

  test("never exceeds a maximum below its start", () => {
    expect(new Window(2).limit).toBe(2);
  });
});

describe("what is ready", () => {
  test("first attempts and repeats take turns while repeats are allowed", () => {
    const ready = new Ready();
    expect(ready.add([first("a"), first("b"), retry("c"), retry("d"), replay("e")], 2)).toMatchObject([{ loan: "e" }]);
    expect([ready.next(true), ready.next(true), ready.next(false), ready.next(false)].map(loanOf)).toEqual([
      "a",
      "c",
      "b",
      undefined,
    ]);
    expect(loanOf(ready.next(true))).toBe("d");
    expect(loanOf(ready.next(true))).toBe(undefined);
  });

  test("what has waited too long is taken out, and nothing else", () => {
    const ready = new Ready();
    ready.add([first("old", 10), retry("old too", 20), first("new", 90)], 5);
    expect(ready.takeStale(50).map(loanOf)).toEqual(["old", "old too"]);
    expect(ready.takeAll().map(loanOf)).toEqual(["new"]);
    expect(ready.firstAttempts + ready.repeats).toBe(0);
  });

  function first(loan: string, startBefore = 0): LeasedDelivery {
    const facts = {
      deliveryId: loan,
      claimId: loan,
      sequence: 1n,
      kind: "ping",
      body: "{}",
      url: "https://a.example/",
    };
    return { ...facts, loan, startBefore, attempts: 0, replay: false, createdAt: now };
  }

  function retry(loan: string, startBefore = 0): LeasedDelivery {
    return { ...first(loan, startBefore), attempts: 1 };
  }

  function replay(loan: string): LeasedDelivery {
    return { ...first(loan), replay: true };
  }

  function loanOf(delivery: LeasedDelivery | undefined): string | undefined {
    return delivery?.loan;
  }
});
