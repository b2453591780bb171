import type { BenchServer } from "./bench-server.ts";
import { growBooks } from "./grown-books.ts";
import { type Line, ratioLine } from "./line.ts";
import { BOOKING, TRANSFER } from "./one-statement.ts";
import { openClient } from "./open-client.ts";
import type { VerifyPlan } from "./plan.ts";
import { operator } from "./service.ts";
import { type Spread, spreadOf } from "./statistics.ts";
import { rateText, ratioText, table, whole } from "./text-table.ts";
import { leastDisturbed } from "./undisturbed.ts";

/** The operators' proof that the books hold, beside reading each row of the ledger once. */
export interface VerifyReport {
  readonly payments: number;
  readonly verifySeconds: Spread;
  readonly digestsSeconds: Spread;
  readonly perSecond: Spread;
  /** Of the times. */
  readonly ratio: Spread;
}

export interface VerifyBench {
  readonly plan: VerifyPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

/** Each digest computed again, in one pass over the two tables that have them. */
const DIGESTS = `
select (select count(*) from ledger.transfer where digest <> ledger.transfer_digest(${TRANSFER})) as transfers,
  (select count(*) from ledger.payment_booking where digest <> ledger.payment_booking_digest(${BOOKING})) as bookings`;

/** In turn: `collections ledger verify`, as an operator runs it, and one statement that only computes the digests. */
export async function measureVerify({ plan, server, onProgress }: VerifyBench): Promise<VerifyReport> {
  const size = { events: plan.events, lenders: 1, waiting: 1 };
  const { databaseUrl } = await growBooks(server, "verified", size, onProgress);
  const client = await openClient(databaseUrl);
  const { rows } = await client.query<{ payments: number }>(
    "select count(*)::integer as payments from ledger.payment_booking",
  );
  const { payments } = rows[0]!;
  const round = async () => ({
    digests: await secondsOf(() => client.query(DIGESTS)),
    verify: await secondsOf(() => operator(databaseUrl, "ledger", "verify")),
  });
  onProgress("warming up");
  await round();
  await server.checkpoint();
  onProgress("verifying");
  const watched = await leastDisturbed(plan.rounds, [process.pid, server.pid], round);
  await client.end();
  const rounds = watched.map((one) => one.round);
  return {
    payments,
    verifySeconds: spreadOf(rounds.map(({ verify }) => verify)),
    digestsSeconds: spreadOf(rounds.map(({ digests }) => digests)),
    perSecond: spreadOf(rounds.map(({ verify }) => payments / verify)),
    ratio: spreadOf(rounds.map(({ verify, digests }) => verify / digests)),
  };
}

async function secondsOf(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return (performance.now() - startedAt) / 1_000;
}

/** One table for people. */
export function verifyText({ rounds }: VerifyPlan, report: VerifyReport): string {
  const { payments, verifySeconds, digestsSeconds, perSecond, ratio } = report;
  return [
    `Books of ${whole(payments)} payments verified by the command, beside computing each digest again; ${rounds} rounds in turn`,
    table("verify s,payments/s,digests s,verify ÷ digests", [
      [ratioText(verifySeconds), rateText(perSecond), ratioText(digestsSeconds), ratioText(ratio)],
    ]),
  ].join("\n");
}

/** How much longer than reading every row once. */
export function verifyLines({ rounds }: VerifyPlan, report: VerifyReport): Line[] {
  const { payments, perSecond, digestsSeconds, ratio } = report;
  return [
    ratioLine({
      figure: `ledger verify of ${whole(payments)} payments, time`,
      ours: `${whole(perSecond.median)} payments/s`,
      beside: `computing each digest again: ${digestsSeconds.median.toFixed(2)} s`,
      ratio,
      rounds,
    }),
  ];
}
