import { createOutbound, type Outbound } from "@collections/outbound";
import { until } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { firstAttempt } from "../../tests/leased-delivery.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { eventsOn, openTrial, UNPACED } from "../../tests/trial.ts";
import type { AlertJob } from "../endpoint/alert.ts";
import type { AttemptErrorCode, AttemptResult } from "../endpoint/attempt.ts";
import { listDeliveries, lastFailedAttempt, parseLadder, remedyFor, type WebhooksOptions } from "../index.ts";
import { outcomeOf } from "./outcome.ts";

const trial = await openTrial();
const { database } = trial;
const ladder = parseLadder("0s,20ms,20ms,20ms");
const strict = createOutbound();
beforeAll(() => database.jobs.start());
afterAll(() => Promise.all([database.jobs.stop(60_000), strict.close()]));

/** Publishes an event, and returns the attempts until it is parked, its delivery and the alerts. */
async function parked(url: string, outbound: Outbound, options: Partial<WebhooksOptions> = {}) {
  const lenderId = await trial.addLender(url);
  const alerts: AlertJob[] = [];
  await using running = await trial.work({
    suspension: UNPACED,
    ladder,
    outbound,
    async sendAlert({ data }) {
      if (data.tenantId === lenderId) alerts.push(data);
    },
    ...options,
  });
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await until(() => alerts.length > 0);
  const { deliveries } = await listDeliveries(database.em(), { tenantId: lenderId }, new Date());
  return { lenderId, facts: running.facts, alerts, delivery: deliveries[0]! };
}

describe("an event for an address that is blocked", () => {
  test("is parked after one retry, with the remedy", async () => {
    const { lenderId, facts, alerts, delivery } = await parked("https://localhost/hooks", strict);
    expect(facts.map(({ attempt, state, errorCode }) => [attempt, state, errorCode])).toEqual([
      [1, "retrying", "BLOCKED_ADDRESS"],
      [2, "parked", "BLOCKED_ADDRESS"],
    ]);
    expect(delivery).toMatchObject({
      state: "parked",
      attempts: 2,
      lastError: expect.stringMatching(/^BLOCKED_ADDRESS: /),
    });
    expect(alerts).toMatchObject([{ cause: "parked", facts: { errorCode: "BLOCKED_ADDRESS" } }]);
    const failed = await lastFailedAttempt(database.em(), lenderId);
    expect(remedyFor({ ...failed!, url: "https://localhost/hooks" }).remedy).toContain("only public addresses");
  });

  test("is parked at once with `blockedAttempts: 1`", async () => {
    const { facts } = await parked("https://localhost/hooks", strict, { blockedAttempts: 1 });
    expect(facts).toMatchObject([{ attempt: 1, state: "parked" }]);
  });

  test("takes the whole ladder if `blockedAttempts` is as long", async () => {
    const { facts } = await parked("https://localhost/hooks", strict, { blockedAttempts: ladder.length });
    expect(facts.map(({ state }) => state)).toEqual(["retrying", "retrying", "retrying", "parked"]);
  });
});

test("an event that its receiver rejects takes the whole ladder", async () => {
  await using receiver = await openReceiver((response) => void response.writeHead(500).end());
  await using outbound = closing(createOutbound({ allow: "127.0.0.1:*" }));
  const { facts } = await parked(receiver.url, outbound.outbound);
  expect(facts.map(({ state }) => state)).toEqual(["retrying", "retrying", "retrying", "parked"]);
});

test.each<[AttemptErrorCode, boolean, number, string]>([
  ["BLOCKED_ADDRESS", false, 0, "retrying"],
  ["BLOCKED_ADDRESS", false, 1, "parked"],
  ["BLOCKED_ADDRESS", false, 2, "parked"],
  ["DNS", true, 2, "retrying"],
  ["CONNECT", true, 2, "retrying"],
  ["DNS", false, 2, "retrying"],
  ["TIMEOUT", false, 2, "retrying"],
  ["TIMEOUT", false, 3, "parked"],
])("after %s (own fault: %s) and %i earlier attempts, an event is %s", (code, ownFault, attempts, state) => {
  const delivery = { ...firstAttempt("LN-1"), attempts };
  expect(outcomeOf(delivery, failed(code, ownFault), ladder, Math.random, 2)).toMatchObject({ state });
});

function failed(code: AttemptErrorCode, ownFault: boolean): AttemptResult {
  return {
    outcome: "failed",
    startedAt: new Date(),
    durationMs: 12,
    request: { url: "https://example.com/", headers: {}, body: "{}" },
    answer: null,
    error: { code, detail: "It failed." },
    ownFault,
  };
}

function closing(outbound: Outbound) {
  return { outbound, [Symbol.asyncDispose]: () => outbound.close() };
}
