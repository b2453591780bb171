import { type IsolationFigures, SLOW_ANSWER_MS } from "./isolation.ts";
import type { LeaseFigures, LeaseGrowth } from "./lease-growth.ts";
import { atLeast, atMost, type Line, ratioLine } from "../figures/line.ts";
import type { WebhookPlan } from "../plan.ts";
import { busyText, milliseconds, rateText, ratioText, table, whole } from "../figures/text-table.ts";
import type { Pace, ThroughputFigures } from "./throughput.ts";
import type { WebhookFigures } from "./webhooks.ts";

const COLUMNS = "figure,service,naive pg-boss,bare loop,aim";

/** The report as a table: a row for each figure, a column for each sender. */
export function webhookText(plan: WebhookPlan, figures: WebhookFigures): string {
  const { throughput, unevenThroughput, isolation, lease } = figures;
  const { uneven } = plan;
  const rows = [
    ...throughputRows(`events/s, ${plan.events} of ${plan.loans} loans`, throughput),
    ...throughputRows(`events/s, 1 answer of ${uneven.oneOf} takes ${uneven.delayMs} ms`, unevenThroughput),
    ...isolationRows(plan, isolation),
    ...leaseRows(lease),
  ];
  return [
    `Events delivered to lenders; ${plan.rounds} rounds of all in turn; others ${busyText(throughput.othersBusy)}`,
    table(COLUMNS, rows, "left"),
  ].join("\n");
}

function throughputRows(name: string, figures: ThroughputFigures): string[][] {
  const { service, naive, bare, serviceToBare, naiveToBare, serviceToNaive } = figures;
  const sides = [service, naive, bare];
  return [
    [name, ...sides.map(({ perSecond }) => rateText(perSecond)), ""],
    ["  ÷ bare loop", ratioText(serviceToBare), ratioText(naiveToBare), "", "≥ 0.5"],
    ["  ÷ naive pg-boss", ratioText(serviceToNaive), "", "", "≥ 3"],
    ["  CPU µs per event", ...sides.map(processorText), ""],
  ];
}

function processorText({ processorUs }: Pace): string {
  return processorUs === undefined ? "" : rateText(processorUs);
}

type IsolationSides = WebhookFigures["isolation"];

function isolationRows({ slowBacklog }: WebhookPlan, { service, naive }: IsolationSides): string[][] {
  const row = (name: string, of: (side: IsolationFigures) => string, aim = ""): string[] => [
    name,
    of(service),
    of(naive),
    "",
    aim,
  ];
  const beside = `${slowBacklog} events of an endpoint that takes ${SLOW_ANSWER_MS / 1_000} s`;
  return [
    row("commit to receipt on an idle system, p50 ms", ({ idle }) => milliseconds(idle.p50), "< 10"),
    row("  p99 ms", ({ idle }) => milliseconds(idle.p99)),
    row(`beside ${beside}, p50 ms`, ({ besideSlow }) => milliseconds(besideSlow.p50)),
    row("  p99 ms", ({ besideSlow }) => milliseconds(besideSlow.p99)),
    row("  p50 beside them ÷ idle", ({ ratio }) => ratioText(ratio.p50), "≤ 1.5"),
    row("  p99 beside them ÷ idle", ({ ratio }) => ratioText(ratio.p99), "≤ 1.5"),
  ];
}

function leaseRows({ few, many, leased, figures }: LeaseGrowth): string[][] {
  const [fewText, manyText] = [few, many].map((rows) => rows.toLocaleString("en"));
  const row = (name: string, cell: string): string[] => [name, cell, "", "", ""];
  return figures.flatMap(({ statistics, fewMs, manyMs, ratio, pages }: LeaseFigures) => [
    row(`lease of ${leased} beside ${fewText} delivered, ${statistics} statistics, ms`, ratioText(fewMs)),
    row(`  beside ${manyText}, ms`, ratioText(manyMs)),
    row("  many ÷ few", ratioText(ratio)),
    row("  pages read: many ÷ few", `${pages.many} ÷ ${pages.few}`),
  ]);
}

/**
 * Returns the report's lines: the throughput compared with a program that only posts and with the usual solution on
 * pg-boss, the latency beside a slow lender, and the lease in large tables.
 */
export function webhookLines({ rounds }: WebhookPlan, figures: WebhookFigures): Line[] {
  const { throughput, unevenThroughput, isolation, lease } = figures;
  const { idle, ratio } = isolation.service;
  const naiveIdle = `naive pg-boss: ${isolation.naive.idle.p50.median.toFixed(1)} ms`;
  const commit = { figure: "commit to receipt, p50", ours: `${milliseconds(idle.p50)} ms`, beside: naiveIdle };
  return [
    ...throughputLines("events of a backlog", rounds, throughput),
    ...throughputLines("events of which a few answers take long", rounds, unevenThroughput),
    { ...commit, ratio: "", rounds, aim: atMost(10, idle.p50, " ms") },
    ratioLine(
      {
        figure: "commit to receipt beside a slow lender's backlog, p50",
        ours: `${milliseconds(isolation.service.besideSlow.p50)} ms`,
        beside: "the same without",
        ratio: ratio.p50,
        rounds,
      },
      (spread) => atMost(1.5, spread),
    ),
    ...lease.figures.map(({ statistics, manyMs, fewMs, ratio: growth }) =>
      ratioLine({
        figure: `lease beside ${whole(lease.many)} delivered, ${statistics} statistics`,
        ours: `${manyMs.median.toFixed(2)} ms`,
        beside: `beside ${whole(lease.few)}: ${fewMs.median.toFixed(2)} ms`,
        ratio: growth,
        rounds,
      }),
    ),
  ];
}

function throughputLines(
  figure: string,
  rounds: number,
  { service, naive, bare, ...ratios }: ThroughputFigures,
): Line[] {
  const ours = `${whole(service.perSecond.median)}/s`;
  const line = { figure, ours, rounds };
  const [loop, boss] = [bare, naive].map(({ perSecond }) => `${whole(perSecond.median)}/s`);
  return [
    ratioLine({ ...line, beside: `a bare loop: ${loop}`, ratio: ratios.serviceToBare }, (ratio) => atLeast(0.5, ratio)),
    ratioLine({ ...line, beside: `naive pg-boss: ${boss}`, ratio: ratios.serviceToNaive }, (ratio) =>
      atLeast(3, ratio),
    ),
  ];
}
