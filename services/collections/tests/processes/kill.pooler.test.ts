/** @module-tag own-server */
import { OwnPooler } from "@collections/faults";
import { confirmUntilAnswered, isBooked, type LenderTwin } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { aDurablePostgres } from "./fixtures/durable-postgres.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLoan, aRegisteredLender, type ServiceProcess, type Settings, startProcess } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";

const SEED = seedOfRun();
const LOANS = Array.from({ length: 10 }, (_, index) => `LN-${index}`);
const CLIENTS = 8;
const KILLS = 3;
const BETWEEN_KILLS = 40;
const STOP = new AbortController().signal;
const random = seededRandom(SEED);

test(`a pooler that is killed loses and doubles no payment (SEED=${SEED})`, async () => {
  const postgres = await aDurablePostgres();
  const pooler = await OwnPooler.start(postgres.url);
  afterFile(() => pooler.kill());
  const settings: Settings = {
    DATABASE_URL: pooler.url,
    DATABASE_DIRECT_URL: postgres.url,
    RATE_LIMITS: "off",
    WEBHOOK_LADDER: "0s,1s,1s,1s,1s,1s",
  };
  const processes = await Promise.all(["server", "worker"].map((role) => startProcess({ ...settings, ROLE: role })));
  const cli = commandsInProcess(settings);
  const lender = await aRegisteredLender(cli, processes[0]!.url);
  await lender.importCases(LOANS.map((loan) => aLoan(loan, 1_000_000)));

  const booked = new Map<string, string>();
  let isOver = false;
  async function keepPaying(client: number): Promise<void> {
    for (let number = 1; !isOver; number += 1) {
      const [loan, reference] = [LOANS[Math.floor(random() * LOANS.length)]!, `pay_${client}_${number}`];
      await pay(lender, loan, reference);
      booked.set(reference, loan);
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => keepPaying(client)));
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const enough = booked.size + BETWEEN_KILLS;
      await expect.poll(() => booked.size, { interval: 1 }).toBeGreaterThan(enough);
      await pooler.kill();
      await pause(random() * 1_500);
      await pooler.startAgain();
    }
    const afterLastKill = booked.size;
    await expect.poll(() => booked.size).toBeGreaterThan(afterLastKill + BETWEEN_KILLS);
  } finally {
    isOver = true;
    await clients;
  }

  for (const loan of LOANS) {
    const paid = [...booked.values()].filter((one) => one === loan).length;
    // The first event is the creation of the case.
    await lender.waitFor(() => lender.loans.get(loan)?.sequence === 1 + paid);
    expect((await lender.getCase(loan)).body).toMatchObject({ totalCollected: paid, sequence: 1 + paid });
  }
  expect(lender.gaps).toEqual([]);
  expect(await cli.json("ledger", "verify")).toMatchObject({
    ok: true,
    totalProblems: 0,
    counts: { bookings: booked.size },
  });
  await expectStillRunning(processes);
});

/** Sends the same bytes until the payment is booked, as a lender does. */
async function pay(lender: LenderTwin, loan: string, reference: string): Promise<void> {
  const payment = { amount: 1, amountIsMajorUnits: true, reference, paidAt: new Date().toISOString(), mode: "upi" };
  const patience = { giveUpAfterMs: Infinity, signal: STOP };
  const { answer } = await confirmUntilAnswered(lender, loan, JSON.stringify(payment), patience);
  expect(isBooked(answer), answer.rawBody).toBe(true);
}

async function expectStillRunning(processes: readonly ServiceProcess[]): Promise<void> {
  expect(processes.map(({ hasEnded }) => hasEnded())).toEqual(processes.map(() => false));
  const errors = processes.map(({ log }) =>
    log()
      .split("\n")
      .filter((line) => line.includes("unexpected error")),
  );
  expect(errors).toEqual(processes.map(() => []));
}
