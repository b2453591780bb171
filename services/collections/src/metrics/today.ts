import type { TodayFigures } from "@collections/flows";
import { toDecimal } from "@collections/money";
import type { Registry } from "prom-client";
import { addReadGauge, type Sample } from "./read-gauge.ts";

/** Returns the figures of all lenders for their present day, or undefined while they cannot be read. */
export type ReadToday = () => Promise<readonly TodayFigures[] | undefined>;

/** The metrics with the figures of today. A process serves them only after it has called `watch`. */
export interface TodayMetrics {
  /** Registers the gauges and sets the function that reads them. Called once, by a worker. */
  watch(read: ReadToday): void;
}

interface FigureGauge {
  /** The name of the metric, without the prefix `collections_`. */
  readonly name: string;
  readonly help: string;
  /** The names of the labels, except the label `lender`. */
  readonly labels: readonly string[];
  /** Returns the values for one lender, without the label `lender`. */
  readonly samplesOf: (figures: TodayFigures) => readonly Sample[];
}

/** Amounts are in major units, because a metric is a floating-point number anyway. */
const GAUGES: readonly FigureGauge[] = [
  {
    name: "today_payments",
    help: "Payments that were booked today.",
    labels: ["currency"],
    samplesOf: ({ day }) => day.payments.map(({ currency, payments }) => [{ currency }, payments]),
  },
  {
    name: "today_paid_amount",
    help: "Sum of the payments that were booked today, in major units.",
    labels: ["currency"],
    samplesOf: ({ day }) => day.payments.map(({ currency, amountMinor }) => amount(currency, amountMinor)),
  },
  {
    name: "today_excess_amount",
    help: "Sum of what today's payments paid beyond what was owed, in major units.",
    labels: ["currency"],
    samplesOf: ({ day }) => day.payments.map(({ currency, excessMinor }) => amount(currency, excessMinor)),
  },
  {
    name: "today_reversals",
    help: "Reversals that were recorded today.",
    labels: ["currency"],
    samplesOf: ({ day }) => day.reversals.map(({ currency, reversals }) => [{ currency }, reversals]),
  },
  {
    name: "today_reversed_amount",
    help: "Sum of the reversals that were recorded today, in major units.",
    labels: ["currency"],
    samplesOf: ({ day }) => day.reversals.map(({ currency, amountMinor }) => amount(currency, amountMinor)),
  },
  {
    name: "today_deducted_amount",
    help: "Commissions that today's reversals took back after they had been paid out, in major units.",
    labels: ["currency"],
    samplesOf: ({ day }) => day.deductions.map(({ currency, amountMinor }) => amount(currency, amountMinor)),
  },
  {
    name: "today_reconciliation_differences",
    help: "Differences that the latest reconciliations of today's payments have found.",
    labels: [],
    samplesOf: ({ day: { reconciliations } }) => [[{}, reconciliations.differences]],
  },
  {
    name: "today_visits",
    help: "Visits that ended today, by disposition.",
    labels: ["disposition"],
    samplesOf: ({ day }) => day.visits.map(({ disposition, visits }) => [{ disposition }, visits]),
  },
  {
    name: "today_promises",
    help: "Promises that are due today, all of them and those that were kept or broken.",
    labels: ["state"],
    samplesOf: ({ day: { promises } }) => [
      [{ state: "due" }, promises.due],
      [{ state: "kept" }, promises.kept],
      [{ state: "broken" }, promises.broken],
    ],
  },
  {
    name: "today_links",
    help: "Links that were requested today, all of them and those that were minted or became unavailable.",
    labels: ["state"],
    samplesOf: ({ day: { links } }) => [
      [{ state: "requested" }, links.requested],
      [{ state: "minted" }, links.minted],
      [{ state: "unavailable" }, links.unavailable],
    ],
  },
  {
    name: "today_active_field_partners",
    help: "Field partners who started or ended a visit today.",
    labels: [],
    samplesOf: ({ day }) => [[{}, day.activeFieldPartners]],
  },
  {
    name: "unassigned_cases",
    help: "Open cases without a field partner; 20,000 stands for 20,000 or more.",
    labels: [],
    samplesOf: ({ unassignedCases }) => [[{}, unassignedCases.count]],
  },
  {
    name: "unhealthy_endpoints",
    help: "Endpoints of a lender that are suspended, or whose latest attempt has failed.",
    labels: ["state"],
    samplesOf: ({ endpoints }) => [
      [{ state: "suspended" }, endpoints.suspended],
      [{ state: "failing" }, endpoints.failing],
    ],
  },
];

/** Returns the metrics with the figures of today. Their gauges are not registered before `watch` is called. */
export function createTodayMetrics(registry: Registry): TodayMetrics {
  return {
    watch(read) {
      for (const { name, help, labels, samplesOf } of GAUGES) {
        addReadGauge(registry, {
          name: `collections_${name}`,
          help,
          labels: ["lender", ...labels],
          read: async () => (await read())?.flatMap((figures) => withLender(figures, samplesOf(figures))),
        });
      }
    },
  };
}

function withLender({ lender }: TodayFigures, samples: readonly Sample[]): Sample[] {
  return samples.map(([labels, value]) => [{ lender: lender.code, ...labels }, value]);
}

function amount(currency: Parameters<typeof toDecimal>[1], minor: bigint): Sample {
  return [{ currency }, Number(toDecimal(minor, currency))];
}
