import { query, statement, transaction } from "@collections/database";
import { until } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { openReceiver } from "../../tests/receiver.ts";
import { countIn, eventsOn, openTrial } from "../../tests/trial.ts";
import { changeEndpoint, endpointOf, parseLadder } from "../index.ts";
import { lease, leaseInTurn } from "./lease.ts";

const trial = await openTrial();
const { database } = trial;
const ladder = parseLadder("0s,1h");
const LOANS = Array.from({ length: 100 }, (_, index) => `LN-${index}`);

async function publishTo(lenderId: string): Promise<void> {
  await trial.publish(LOANS.flatMap((loan) => eventsOn(lenderId, loan, 1, 1)));
}

describe.each([1, 3])("an endpoint that fails, with %i workers", (workers) => {
  test("gets few attempts, and is suspended no earlier than `minDurationMs`", async () => {
    await using receiver = await openReceiver((response) => void response.writeHead(503).end());
    const lenderId = await trial.addLender(receiver.url);
    const suspension = { suspendAfter: 20, probeIntervalMs: 900_000, minDurationMs: 3_000 };
    await using running = new AsyncDisposableStack();
    for (let count = 0; count < workers; count += 1) running.use(await trial.work({ suspension, ladder }));
    await publishTo(lenderId);
    await until(async () => (await endpointOf(database.em(), lenderId))?.state === "suspended");

    const { failingSince, suspendedAt, consecutiveFailures } = (await endpointOf(database.em(), lenderId))!;
    expect(suspendedAt!.getTime() - failingSince!.getTime()).toBeGreaterThanOrEqual(3_000);
    // The attempts that each worker had begun before the fifth failure was recorded are not paced.
    expect(consecutiveFailures).toBeLessThanOrEqual(20 + workers * 8);
    expect(await countIn(database, lenderId, "retrying")).toBe(receiver.received.length);
  });

  test("gets its events when it answers again, and is not suspended", async () => {
    let isUp = false;
    await using receiver = await openReceiver((response) => void response.writeHead(isUp ? 200 : 503).end());
    const lenderId = await trial.addLender(receiver.url);
    const suspension = { suspendAfter: 20, probeIntervalMs: 900_000, minDurationMs: 600_000 };
    await using running = new AsyncDisposableStack();
    for (let count = 0; count < workers; count += 1) running.use(await trial.work({ suspension, ladder }));
    await publishTo(lenderId);
    await until(async () => (await failuresOf(lenderId)) >= 5);
    isUp = true;
    const failed = () => countIn(database, lenderId, "retrying");
    await until(async () => (await countIn(database, lenderId, "delivered")) + (await failed()) === LOANS.length);
    expect(await failed()).toBeLessThan(5 + workers * 8);
    expect(await endpointOf(database.em(), lenderId)).toMatchObject({ state: "active", consecutiveFailures: 0 });
  });
});

describe("the turn of a paced endpoint", () => {
  const request = { count: 32, afterLoan: "", firstAttemptsOnly: false, pacedFrom: 5 };

  test("is held by one process, and passes on when the lease of a killed process ends", async () => {
    const lenderId = await paced();
    const brief = { ...request, lenderId, timeoutMs: 0, beyondTimeoutMs: 600 };
    expect(await lease(database.em(), brief)).toMatchObject({ isOpen: false, deliveries: [] });
    const turns = await Promise.all([1, 2, 3, 4].map(() => leaseInTurn(database.em(), brief)));
    expect(turns.map(({ deliveries }) => deliveries.length).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1]);
    expect(turns.filter(({ waitMs }) => waitMs > 0)).toHaveLength(3);
    await until(async () => (await leaseInTurn(database.em(), brief)).deliveries.length === 1);
  });

  test("is free while nothing is due, so that the next event is attempted at once", async () => {
    const lenderId = await paced({ events: false });
    const long = { ...request, lenderId, timeoutMs: 600_000 };
    expect(await leaseInTurn(database.em(), long)).toMatchObject({ deliveries: [], waitMs: 0 });
    await publishTo(lenderId);
    expect((await leaseInTurn(database.em(), long)).deliveries).toHaveLength(1);
  });

  test("ends with another callback URL", async () => {
    const lenderId = await paced();
    const long = { ...request, lenderId, timeoutMs: 600_000 };
    await leaseInTurn(database.em(), long);
    await transaction(database.em(), (tx) =>
      changeEndpoint(tx, { tenantId: lenderId, url: "http://127.0.0.1:9/other" }),
    );
    expect((await lease(database.em(), long)).deliveries).toHaveLength(32);
  });

  test("is given to nobody while the endpoint is suspended", async () => {
    const lenderId = await paced();
    await query(database.em(), suspendNow, [lenderId]);
    expect(await leaseInTurn(database.em(), { ...request, lenderId, timeoutMs: 1_000 })).toMatchObject({
      deliveries: [],
      waitMs: 0,
    });
  });
});

/** Adds a lender whose endpoint has failed five times. */
async function paced({ events = true } = {}): Promise<string> {
  const lenderId = await trial.addLender("http://127.0.0.1:9/hooks");
  if (events) await publishTo(lenderId);
  await query(database.em(), failNow, [lenderId]);
  return lenderId;
}

async function failuresOf(lenderId: string): Promise<number> {
  return (await endpointOf(database.em(), lenderId))!.consecutiveFailures;
}

const failNow = statement(
  "pace-test.fail",
  `update webhooks.endpoint set consecutive_failures = 5, failing_since = now() where lender_id = $1`,
);

const suspendNow = statement(
  "pace-test.suspend",
  `update webhooks.endpoint set state = 'suspended', suspended_at = now(), next_probe_at = now() + interval '1 hour'
   where lender_id = $1`,
);
