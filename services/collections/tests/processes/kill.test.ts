/** @module-tag own-server */
import { type Answer, isBooked, LenderClient, type LenderTwin } from "@collections/lender-twin";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { aDurablePostgres } from "./fixtures/durable-postgres.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLoan, aRegisteredFieldPartner, aRegisteredLender, startCrew } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";

const SEED = seedOfRun();
const CLIENTS = 24;
const LOANS = 40;
const ASSIGNED_LOANS = 2;
const PLACED = 2_000_000;
const CONFIRMATIONS = 1_000;
const KILLS = 5;
/**
 * A run proves nothing unless a kill has happened after a commit and before its answer. It continues until there was
 * such a kill, but stops after this number of kills.
 */
const MOST_KILLS = 30;

interface Payment {
  loan: string;
  amountMinor: number;
  body: string;
  /** Whether an attempt ended without an answer. */
  isDoubtful: boolean;
}

test(`kill -9 loses no confirmation, books none twice, and leaves no gap in the events (SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  const { url: databaseUrl } = await aDurablePostgres();
  const settings = { DATABASE_URL: databaseUrl, WEBHOOK_TIMEOUT: "1s" };
  const cli = commandsInProcess(settings);
  const service = await startCrew(settings, 1);
  const serviceUrl = service.urls[0]!;
  const [lender, fieldPartnerId] = await Promise.all([
    aRegisteredLender(cli, serviceUrl),
    aRegisteredFieldPartner(cli),
  ]);
  const loans = Array.from({ length: LOANS }, (_, index) => `LN/${index}`);
  const assigned = loans.slice(0, ASSIGNED_LOANS);
  await lender.importCases(loans.map((loan) => aLoan(loan, PLACED / 100)));
  await Promise.all(assigned.map((loan) => cli.json("case", "assign", "ACME", loan, fieldPartnerId)));

  const acknowledged = new Map<Payment, Answer>();
  let lostAnswers = 0;
  let kills = 0;
  /** The duration of the newest confirmation. A kill within it meets confirmations at each stage, on a slow machine too. */
  let tookMs = 10;
  const hasKilledEnough = () => (kills >= KILLS && lostAnswers > 0) || kills >= MOST_KILLS;
  const isDone = () => acknowledged.size >= CONFIRMATIONS && hasKilledEnough();

  async function keepConfirming(client: LenderClient): Promise<void> {
    while (!isDone()) {
      const payment = aPayment(random, loans);
      const startedAt = performance.now();
      const answer = await confirmUntilAnswered(client, payment);
      if (!payment.isDoubtful) tookMs = performance.now() - startedAt;
      if (answer.status === 409) lostAnswers += 1;
      acknowledged.set(payment, answer);
    }
  }

  async function keepKilling(): Promise<void> {
    while (!hasKilledEnough()) {
      const enough = acknowledged.size + 60 + random() * 100;
      // Stop waiting when the run is done: the clients have then stopped, so `acknowledged` may never grow to `enough`.
      while (acknowledged.size < enough && !isDone()) await pause(1);
      if (isDone()) return;
      await pause(random() * tookMs);
      await service.replaceOne(random);
      await service.untilRunning(1);
      kills += 1;
    }
  }

  const clients = Array.from({ length: CLIENTS }, () => aClientOf(lender, serviceUrl));
  await Promise.all([keepKilling(), ...clients.map(keepConfirming)]);
  expect(lostAnswers, `in ${kills} kills no answer to a commit was lost, so the test proves nothing`).toBeGreaterThan(
    0,
  );

  await expectBookedOnce(clients, acknowledged);
  await expectTotals(lender, loans, assigned, acknowledged);
  await expectEveryEvent(lender, loans);
  expect(await cli.json("ledger", "verify")).toMatchObject({
    ok: true,
    totalProblems: 0,
    counts: { bookings: acknowledged.size },
  });
  for (const client of clients) client.disconnect();
});

/** Returns another client of the same lender, with its own connections. */
function aClientOf(lender: LenderTwin, serviceUrl: string): LenderClient {
  const client = new LenderClient();
  const [apiKeyId, hmacSecret] = [...lender.secrets][0]!;
  client.connect({ serviceUrl, apiKeyId, hmacSecret });
  return client;
}

let payments = 0;

function aPayment(random: () => number, loans: string[]): Payment {
  const loan = loans[Math.floor(random() * loans.length)]!;
  const amountMinor = 1 + Math.floor(random() * 200_000);
  payments += 1;
  const body = JSON.stringify({
    amount: amountMinor / 100,
    amountIsMajorUnits: true,
    reference: `pay_${payments}`,
    paidAt: new Date().toISOString(),
    mode: "upi",
  });
  return { loan, amountMinor, body, isDoubtful: false };
}

/** Sends the same bytes again until there is an answer, as a lender does. */
async function confirmUntilAnswered(client: LenderClient, payment: Payment): Promise<Answer> {
  for (;;) {
    try {
      const answer = await client.confirm(payment.loan, payment.body);
      if (answer.status >= 500) continue;
      expect(answer.status, answer.rawBody).toBeOneOf(payment.isDoubtful ? [200, 409] : [200]);
      return answer;
    } catch (error) {
      if ((error as { code?: string }).code === undefined) throw error;
      payment.isDoubtful = true;
      await pause(100 + Math.random() * 100);
    }
  }
}

/** Expects that a repeat of each confirmation returns the original booking as it was acknowledged. */
async function expectBookedOnce(clients: LenderClient[], acknowledged: Map<Payment, Answer>): Promise<void> {
  const all = [...acknowledged];
  await Promise.all(
    clients.map(async (client, index) => {
      for (const [payment, first] of all.filter((_, at) => at % clients.length === index)) {
        const repeat = await client.confirm(payment.loan, payment.body);
        expect(isBooked(repeat) && repeat.status === 409, repeat.rawBody).toBe(true);
        expect(repeat.body).toMatchObject({ matches: true, differences: [] });
        expect(repeat.body["original"]).toMatchObject(
          first.status === 200 ? first.body : (first.body["original"] as object),
        );
      }
    }),
  );
}

async function expectTotals(
  lender: LenderTwin,
  loans: string[],
  assigned: string[],
  acknowledged: Map<Payment, Answer>,
): Promise<void> {
  for (const loan of loans) {
    const paid = [...acknowledged.keys()].filter((payment) => payment.loan === loan);
    const totalMinor = paid.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
    const isCleared = totalMinor >= PLACED;
    const { body } = await lender.getCase(loan);
    expect(body).toMatchObject({
      totalCollected: totalMinor / 100,
      outstandingAfter: isCleared ? 0 : (PLACED - totalMinor) / 100,
      excessAmount: isCleared ? (totalMinor - PLACED) / 100 : 0,
      status: isCleared ? "collected" : paid.length > 0 ? "in_progress" : assigned.includes(loan) ? "assigned" : "new",
      // The events are the creation, the assignment, each payment and the end of the case.
      sequence: 1 + Number(assigned.includes(loan)) + paid.length + Number(isCleared),
    });
  }
}

/** Expects that every event arrives. Events that killed processes had leased arrive after their leases have expired. */
async function expectEveryEvent(lender: LenderTwin, loans: string[]): Promise<void> {
  for (const loan of loans) {
    const { body } = await lender.getCase(loan);
    const last = body["sequence"] as number;
    await lender.waitFor(() => lender.loans.get(loan)?.sequence === last);
    const arrived = lender.events.filter(({ sourceLoanNumber }) => sourceLoanNumber === loan);
    expect(arrived.map(({ sequence }) => sequence)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  }
  expect(lender.gaps).toEqual([]);
  expect(lender.rejected).toEqual([]);
}
