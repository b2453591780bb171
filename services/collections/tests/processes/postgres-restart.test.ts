/** @module-tag own-server */
import { confirmUntilAnswered, isBooked, type LenderTwin } from "@collections/lender-twin";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { firstAttemptsOutOfOrder } from "../fixtures/delivery-order.ts";
import { aDurablePostgres } from "./fixtures/durable-postgres.ts";
import { aLoan, aRegisteredLender, type ServiceProcess, type Settings, startProcess } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";
import { type PublishedEvent, webhookRows } from "../fixtures/webhook-rows.ts";

const SEED = seedOfRun();
const LOANS = Array.from({ length: 20 }, (_, index) => `LN-${index}`);
const CLIENTS = 4;
const STOP = new AbortController().signal;
const random = seededRandom(SEED);

test(`delivery continues by itself after PostgreSQL restarts under load (SEED=${SEED})`, async () => {
  const postgres = await aDurablePostgres();
  const settings: Settings = {
    DATABASE_URL: postgres.url,
    RATE_LIMITS: "off",
    WEBHOOK_TIMEOUT: "5s",
    WEBHOOK_LADDER: "0s,1s,1s,1s,1s,1s",
    WEBHOOK_PROBE_INTERVAL: "500ms",
  };
  const roles = ["server", "worker", "worker"];
  const processes = await Promise.all(roles.map((role) => startProcess({ ...settings, ROLE: role })));
  const cli = commandsInProcess(settings);
  const [healthy, flaky, broken] = [
    await aRegisteredLender(cli, processes[0]!.url, { code: "HEALTHY" }),
    await aRegisteredLender(cli, processes[0]!.url, { code: "FLAKY" }),
    await aRegisteredLender(cli, processes[0]!.url, { code: "BROKEN" }),
  ];
  const lenders = { HEALTHY: healthy, FLAKY: flaky, BROKEN: broken };
  const rows = webhookRows(postgres.url);

  // The lender HEALTHY accepts every event, the lender FLAKY accepts every second event only at a retry, and the
  // endpoint of the lender BROKEN is suspended.
  flaky.receiverBehaviour = ({ attempt, sequence }) => (attempt === 1 && sequence! % 2 === 0 ? "error500" : "ok");
  broken.receiverBehaviour = "error500";
  for (const lender of Object.values(lenders)) await lender.importCases(LOANS.map((loan) => aLoan(loan, 1_000_000)));
  await expect.poll(async () => (await rows.endpoint("BROKEN")).state).toBe("suspended");

  let isOver = false;
  const paid = Object.values(lenders).map((lender) => keepPaying(lender, () => isOver));
  try {
    for (const signal of ["SIGQUIT", "SIGINT"] as const) {
      const betweenAttempts = await eventsBetweenAttempts(lenders);
      await postgres.restart(signal, random() * 1_500);
      await expectGoingOn(lenders, betweenAttempts);
    }
  } finally {
    isOver = true;
    await Promise.all(paid);
  }
  broken.receiverBehaviour = "ok";
  await rows.settled(Object.keys(lenders));
  for (const [index, [code, lender]] of Object.entries(lenders).entries()) {
    await expectNothingLost(lender, await rows.published(code), (await paid[index])!);
  }
  expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true, totalProblems: 0 });
  await expectStillRunning(processes);
});

interface Payment {
  readonly loan: string;
  readonly reference: string;
}

let payments = 0;

/** Confirms a payment as a lender does: sends the same bytes again until the payment is booked. */
async function pay(lender: LenderTwin): Promise<Payment> {
  payments += 1;
  const payment = { loan: LOANS[Math.floor(random() * LOANS.length)]!, reference: `pay_${payments}` };
  const body = JSON.stringify({
    amount: 1,
    amountIsMajorUnits: true,
    reference: payment.reference,
    paidAt: new Date().toISOString(),
    mode: "upi",
  });
  const { answer } = await confirmUntilAnswered(lender, payment.loan, body, { giveUpAfterMs: Infinity, signal: STOP });
  expect(isBooked(answer), answer.rawBody).toBe(true);
  return payment;
}

async function keepPaying(lender: LenderTwin, isOver: () => boolean): Promise<Payment[]> {
  const booked: Payment[] = [];
  async function client(): Promise<void> {
    while (!isOver()) {
      booked.push(await pay(lender));
      await pause(random() * 60);
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return booked;
}

type Lenders = Record<"HEALTHY" | "FLAKY" | "BROKEN", LenderTwin>;

/** Waits until there is enough load, and returns the events that are waiting for their retry at that moment. */
async function eventsBetweenAttempts({ HEALTHY, FLAKY }: Lenders): Promise<string[]> {
  const before = HEALTHY.events.length;
  const waiting = () => {
    const accepted = new Set(FLAKY.events.map(({ eventId }) => eventId));
    return FLAKY.deliveries.flatMap(({ eventId }) => (accepted.has(eventId) ? [] : eventId));
  };
  await HEALTHY.waitFor(() => HEALTHY.events.length > before + 20 && waiting().length > 5);
  return waiting();
}

/**
 * Expects that a new payment's event arrives, that waiting retries are made, and that the suspended endpoint is still
 * probed.
 */
async function expectGoingOn({ HEALTHY, FLAKY, BROKEN }: Lenders, betweenAttempts: string[]): Promise<void> {
  const probes = () => BROKEN.deliveries.filter(({ kind }) => kind === "ping").length;
  const probesBefore = probes();
  const { reference } = await pay(HEALTHY);
  await HEALTHY.waitFor(() => arrivedPayments(HEALTHY).has(reference));
  await FLAKY.waitFor(() => {
    const accepted = new Set(FLAKY.events.map(({ eventId }) => eventId));
    return betweenAttempts.every((eventId) => accepted.has(eventId));
  });
  await BROKEN.waitFor(() => probes() > probesBefore + 1);
}

function arrivedPayments(lender: LenderTwin): Map<string, string> {
  const collected = lender.events.filter(({ kind }) => kind === "payment.collected");
  return new Map(collected.map(({ data, sourceLoanNumber }) => [String(data?.["reference"]), sourceLoanNumber!]));
}

/**
 * Expects that each booked payment is in its case, that every event has arrived, and that first attempts were in order.
 */
async function expectNothingLost(lender: LenderTwin, published: PublishedEvent[], booked: Payment[]): Promise<void> {
  const arrived = arrivedPayments(lender);
  expect(booked.filter(({ reference, loan }) => arrived.get(reference) !== loan)).toEqual([]);
  expect(published.filter(({ state }) => state !== "delivered")).toEqual([]);
  const taken = new Set(lender.events.map(({ eventId }) => eventId));
  expect(published.filter(({ eventId }) => !taken.has(eventId))).toEqual([]);
  expect(firstAttemptsOutOfOrder(lender.deliveries)).toEqual([]);
  for (const loan of LOANS) {
    const { body } = await lender.getCase(loan);
    expect(body).toMatchObject({
      totalCollected: [...arrived.values()].filter((paid) => paid === loan).length,
      sequence: published.filter((event) => event.loan === loan).length,
    });
  }
}

/** Expects that no process has ended, and that each exits with 0 on SIGTERM. */
async function expectStillRunning(processes: ServiceProcess[]): Promise<void> {
  const states = processes.map(({ ended }) => Promise.race([ended, pause(1, "runs")]));
  expect(await Promise.all(states)).toEqual(processes.map(() => "runs"));
  for (const { send } of processes) send("SIGTERM");
  expect(await Promise.all(processes.map(({ ended }) => ended))).toEqual(
    processes.map(() => ({ code: 0, signal: null })),
  );
}
