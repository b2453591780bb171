/** @module-tag own-server */
import type { Crew } from "@collections/faults";
import type { LenderTwin, ReceivedDelivery, ReceivedEvent } from "@collections/lender-twin";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { firstAttemptsOutOfOrder, overtakenInDrain } from "../fixtures/delivery-order.ts";
import { aDurablePostgres } from "./fixtures/durable-postgres.ts";
import { aLoan, aRegisteredLender, type Settings, startCrew, startProcess } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";
import { type PublishedEvent, type WebhookRows, webhookRows } from "../fixtures/webhook-rows.ts";

const SEED = seedOfRun();
const WORKERS = 3;
const LOANS = 40;
const BACKLOG_PER_LOAN = 8;
/**
 * The run continues until kills have interrupted this many attempts of each kind: attempts at an endpoint that works,
 * retries, and attempts of a draining backlog.
 */
const MIN_INTERRUPTED = 2;
const MOST_KILLS = 25;
/**
 * Answers that come late, but well before the timeout. A kill interrupts attempts with such answers, even if the signal
 * arrives late.
 */
const LONG = "slow:1200";
/**
 * Even slower answers, for the endpoint whose backlog drains. No events are added to this backlog. The slow answers
 * make it last until the processes that replace killed ones are ready.
 */
const LONGER = "slow:2400";
const LADDER = "0s,200ms,200ms,400ms";

const random = seededRandom(SEED);
const loans = Array.from({ length: LOANS }, (_, index) => `LN-${String(index).padStart(2, "0")}`);

/** Deliveries that were in flight when a worker was killed. */
interface InterruptedDeliveries {
  attempts: ReceivedDelivery[];
  retries: ReceivedDelivery[];
  drained: ReceivedDelivery[];
}

test(`kill -9 of workers during attempts, retries and the drain of a backlog loses no event and keeps the order of the backlog (SEED=${SEED})`, async () => {
  const settings: Settings = {
    DATABASE_URL: (await aDurablePostgres()).url,
    RATE_LIMITS: "off",
    WEBHOOK_TIMEOUT: "5s",
    WEBHOOK_LADDER: LADDER,
    WEBHOOK_PROBE_INTERVAL: "300ms",
  };
  const server = await startProcess({ ...settings, ROLE: "server" });
  const crew = await startCrew({ ...settings, ROLE: "worker" }, WORKERS);
  const [steady, flaky, drained] = await threeLenders(settings, server.url);
  const rows = webhookRows(settings["DATABASE_URL"]!);

  // The lender STEADY answers slowly now and then, the lender FLAKY rejects many first attempts, and the lender DRAINED
  // fails until its endpoint is suspended.
  let isUp = false;
  let isOver = false;
  const interrupted: InterruptedDeliveries = { drained: [], retries: [], attempts: [] };
  steady.receiverBehaviour = () => (!isOver && random() < 0.3 ? LONG : "slow:20");
  flaky.receiverBehaviour = (event) => (isRefused(event) ? "status:422" : isOver ? "ok" : LONG);
  drained.receiverBehaviour = (event) => {
    if (!isUp) return "error500";
    return isRefusedInDrain(event) ? "status:422" : interrupted.drained.length < MIN_INTERRUPTED ? LONGER : "slow:20";
  };
  await Promise.all(
    [steady, flaky, drained].map((lender) => lender.importCases(loans.map((loan) => aLoan(loan, 9_000)))),
  );
  await payEach(drained, BACKLOG_PER_LOAN - 1);
  await expect.poll(async () => (await rows.endpoint("DRAINED")).state).toBe("suspended");

  // The lender DRAINED accepts events again, and its backlog drains. Workers are killed at random moments and replaced.
  const payments = [steady, flaky].map((lender) => keepPaying(lender, () => isOver));
  try {
    isUp = true;
    while ((await rows.endpoint("DRAINED")).state === "suspended") await pause(5);
    await killUntilInterrupted(interrupted, crew, { steady, flaky, drained }, rows);
  } finally {
    isOver = true;
    await Promise.all(payments);
  }

  await rows.settled(["STEADY", "FLAKY", "DRAINED"]);
  await expectAllArrived({ STEADY: steady, FLAKY: flaky, DRAINED: drained }, rows);
  for (const one of Object.values(interrupted).flat()) expectMadeAgain(one, [steady, flaky, drained]);

  const published = await rows.published("DRAINED");
  const lastPing = drained.deliveries.findLastIndex(({ kind, outcome }) => kind === "ping" && outcome === "accepted");
  const drainTo = (await rows.endpoint("DRAINED")).drainTo!;
  expect(published.filter(({ eventId }) => eventId <= drainTo)).toHaveLength(LOANS * BACKLOG_PER_LOAN);
  expect(overtakenInDrain(drained.deliveries, lastPing, published, drainTo)).toEqual([]);
});

async function threeLenders(settings: Settings, serviceUrl: string): Promise<[LenderTwin, LenderTwin, LenderTwin]> {
  const cli = commandsInProcess(settings);
  return [
    await aRegisteredLender(cli, serviceUrl, { code: "STEADY" }),
    await aRegisteredLender(cli, serviceUrl, { code: "FLAKY" }),
    await aRegisteredLender(cli, serviceUrl, { code: "DRAINED" }),
  ];
}

/**
 * Returns whether to reject the event. Every second event is rejected at its first attempt. One event is always
 * rejected, so that it is parked.
 */
function isRefused({ sourceLoanNumber, sequence, attempt }: ReceivedEvent): boolean {
  if (sourceLoanNumber === loans[0] && sequence === 1) return true;
  return attempt === 1 && (sequence ?? 0) % 2 === 0;
}

const refusedInDrain = new Set<string>();

/**
 * Returns whether to reject the event. One event of each loan is rejected once. One event of every eighth loan is
 * always rejected.
 */
function isRefusedInDrain({ eventId, sourceLoanNumber, sequence }: ReceivedEvent): boolean {
  if (sequence === 3 && loans.indexOf(sourceLoanNumber!) % 8 === 0) return true;
  if (sequence !== 5 || refusedInDrain.has(eventId)) return false;
  refusedInDrain.add(eventId);
  return true;
}

let payments = 0;

async function pay(lender: LenderTwin, loan: string): Promise<void> {
  payments += 1;
  const reference = `pay_${payments}`;
  const answer = await lender.confirm(loan, {
    amount: 1,
    amountIsMajorUnits: true,
    reference,
    paidAt: new Date().toISOString(),
    mode: "upi",
  });
  expect(answer.status, answer.rawBody).toBe(200);
}

async function payEach(lender: LenderTwin, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) await Promise.all(loans.map((loan) => pay(lender, loan)));
}

async function keepPaying(lender: LenderTwin, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const loan = () => loans[Math.floor(random() * LOANS)]!;
    await Promise.all([pay(lender, loan()), pay(lender, loan())]);
    await pause(random() * 100);
  }
}

type Lenders = Record<"steady" | "flaky" | "drained", LenderTwin>;

/**
 * Kills workers from the moment when the backlog of the recovered endpoint begins to drain, until enough attempts of
 * each kind were interrupted. Throws if that takes too many kills.
 */
async function killUntilInterrupted(
  interrupted: InterruptedDeliveries,
  crew: Crew,
  { steady, flaky, drained }: Lenders,
  rows: WebhookRows,
): Promise<void> {
  const underWay = (): InterruptedDeliveries => ({
    drained: [...drained.underWay],
    retries: [...flaky.underWay].filter(({ attempt }) => attempt! > 1),
    attempts: [...steady.underWay],
  });
  const lost = new Set([drained, flaky, steady].map(({ unanswered }) => unanswered));
  const kinds = Object.keys(interrupted) as (keyof InterruptedDeliveries)[];
  for (let kills = 0; kills < MOST_KILLS; kills += 1) {
    const missing = kinds.find((kind) => interrupted[kind].length < MIN_INTERRUPTED);
    if (missing === undefined) return;
    await crew.untilRunning(WORKERS - 1);
    const areSeveral = { interval: 5, message: `${missing} under way` };
    await expect.poll(() => underWay()[missing].length, areSeveral).toBeGreaterThan(1);
    await pause(random() * 100);
    const before = underWay();
    await crew.replaceOne(random);
    // Wait until the operating system has closed the killed process's connections and the lenders have noticed.
    await pause(50);
    for (const kind of kinds) {
      interrupted[kind].push(...before[kind].filter((one) => [...lost].some((unanswered) => unanswered.includes(one))));
    }
    const published = await Promise.all(["STEADY", "FLAKY", "DRAINED"].map((code) => rows.published(code)));
    expect(published.flat().filter(({ state }) => state === null)).toEqual([]);
  }
  const counts = kinds.map((kind) => `${interrupted[kind].length} ${kind}`).join(", ");
  throw new Error(
    `${MOST_KILLS} kills interrupted ${counts}. The test proves nothing unless ${MIN_INTERRUPTED} of each kind are interrupted.`,
  );
}

/**
 * Expects that every event was accepted, or was parked after all attempts of the ladder. Expects that the first
 * attempts were made in the order of the events.
 */
async function expectAllArrived(lenders: Record<string, LenderTwin>, rows: WebhookRows): Promise<void> {
  for (const [code, lender] of Object.entries(lenders)) {
    const published = await rows.published(code);
    const accepted = new Set(lender.events.map(({ eventId }) => eventId));
    const standing = ({ eventId }: PublishedEvent) => (accepted.has(eventId) ? "delivered" : "parked");
    expect(published.filter((event) => event.state !== standing(event))).toEqual([]);
    expect(published.filter(({ isLeased }) => isLeased)).toEqual([]);
    const parked = published.filter(({ state }) => state === "parked");
    const steps = LADDER.split(",").length;
    expect(parked.filter(({ attempts }) => attempts !== steps)).toEqual([]);
    const poison = { STEADY: 0, FLAKY: 1, DRAINED: LOANS / 8 }[code]!;
    expect(parked.length).toBeGreaterThanOrEqual(poison);
    for (const loan of loans) {
      const sequences = published.filter((event) => event.loan === loan).map(({ sequence }) => sequence);
      expect(sequences).toEqual(Array.from(sequences, (_, index) => index + 1));
    }
    expect(firstAttemptsOutOfOrder(lender.deliveries)).toEqual([]);
    expect(lender.rejected).toEqual([]);
  }
}

/**
 * Expects that the interrupted attempt was made again with the same attempt number, by a process that took over the
 * lease.
 */
function expectMadeAgain({ eventId, attempt }: ReceivedDelivery, lenders: LenderTwin[]): void {
  const made = lenders.flatMap(({ deliveries }) => deliveries.filter((one) => one.eventId === eventId));
  expect(made.filter((one) => one.attempt === attempt).length, `${eventId}, attempt ${attempt}`).toBeGreaterThan(1);
}
