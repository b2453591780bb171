import { type Line, ratioLine } from "../figures/line.ts";
import type { Spread } from "../figures/statistics.ts";
import { busyText, milliseconds, rateText, ratioText, table, whole } from "../figures/text-table.ts";
import type { PackagesPlan } from "../plan.ts";
import { type IsolationFigures, SLOW_ANSWER_MS } from "../webhooks/isolation.ts";
import { BY_HAND, OURS } from "./event-program.ts";
import type { Row } from "./measured-row.ts";
import type { PackagesReport } from "./packages.ts";

/** The report's tables as text. */
export function packagesText(plan: PackagesPlan, { ledgers, events, signatures }: PackagesReport): string {
  const { rounds, accounts, latencyRounds, slowBacklog } = plan;
  const beside = `${slowBacklog} events of an endpoint that takes ${SLOW_ANSWER_MS / 1_000} s`;
  return [
    `Ledgers of ${whole(accounts)} wallets and purses. A posting is a transaction with a key and two transfers. ${rounds} rounds.`,
    rowTable([...ledgers.postings, ...ledgers.balances]),
    "",
    table(
      "ledger,bytes per transfer",
      ledgers.sizes.map(({ name, bytesPerTransfer }) => [name, whole(bytesPerTransfer)]),
      "left",
    ),
    "",
    `Events and signatures. ${rounds} rounds.`,
    rowTable([...events.commits, events.backlog, ...signatures]),
    "",
    `From commit to receipt, ms. ${latencyRounds} rounds. Beside: while ${beside} wait.`,
    table(
      "program,p50,p99,p50 beside,p99 beside",
      [latencyCells(OURS, events.latency.ours), latencyCells(BY_HAND, events.latency.byHand)],
      "left",
    ),
  ].join("\n");
}

function rowTable(rows: readonly Row[]): string {
  return table(
    "what,clients,program,per second,p50 ms,p99 ms,CPU µs,ours ÷ it,others",
    rows.flatMap(({ what, clients, programs, othersBusy }) =>
      programs.map(({ name, perSecond, p50Ms, p99Ms, processorUs, oursToIt }, index) => [
        index === 0 ? what : "",
        index === 0 ? String(clients) : "",
        name,
        rateText(perSecond),
        medianText(p50Ms, 2),
        medianText(p99Ms, 2),
        medianText(processorUs, 0),
        index === 0 ? "" : ratioText(oursToIt),
        index === 0 ? busyText(othersBusy) : "",
      ]),
    ),
    "left",
  );
}

function medianText(spread: Spread | undefined, digits: number): string {
  return spread === undefined ? "" : spread.median.toFixed(digits);
}

function latencyCells(name: string, { idle, besideSlow }: IsolationFigures): string[] {
  return [name, ...[idle.p50, idle.p99, besideSlow.p50, besideSlow.p99].map(milliseconds)];
}

/** Returns a line for each program beside ours: of each measurement with the largest number of clients. */
export function packagesLines({ rounds, latencyRounds }: PackagesPlan, report: PackagesReport): Line[] {
  const { ledgers, events, signatures } = report;
  const rows = [...ledgers.postings, ...ledgers.balances, ...events.commits, events.backlog, ...signatures];
  const { ours, byHand } = events.latency;
  return [
    ...rows.filter((row) => isLargest(row, rows)).flatMap((row) => rowLines(row, rounds)),
    {
      figure: "commit to receipt, p50",
      ours: `${milliseconds(ours.idle.p50)} ms`,
      beside: `${BY_HAND}: ${milliseconds(byHand.idle.p50)} ms`,
      ratio: "",
      rounds: latencyRounds,
    },
    {
      figure: "commit to receipt beside a slow endpoint, p50",
      ours: `${milliseconds(ours.besideSlow.p50)} ms`,
      beside: `${BY_HAND}: ${milliseconds(byHand.besideSlow.p50)} ms`,
      ratio: "",
      rounds: latencyRounds,
    },
  ];
}

function isLargest({ what, clients }: Row, rows: readonly Row[]): boolean {
  return rows.every((row) => row.what !== what || row.clients <= clients);
}

function rowLines({ what, clients, programs: [ours, ...others] }: Row, rounds: number): Line[] {
  return others.map(({ name, perSecond, oursToIt }) =>
    ratioLine({
      figure: clients === 1 ? what : `${what}, ${clients} clients`,
      ours: `${whole(ours!.perSecond.median)}/s`,
      beside: `${name}: ${whole(perSecond.median)}/s`,
      ratio: oursToIt,
      rounds,
    }),
  );
}
