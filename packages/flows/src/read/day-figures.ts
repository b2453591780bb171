import {
  type PaymentSum,
  type ReconciledWindow,
  reconciledWindows,
  type RecordedSums,
  recordedSums,
  type ReversalSum,
} from "@collections/bookings";
import {
  type CountedDay,
  dayCounts,
  type DispositionCount,
  type PromiseCounts,
  type UnassignedCases,
} from "@collections/cases";
import type { EntityManager } from "@collections/entities";
import { type DeductionSum, deductionSums } from "@collections/earnings";
import { type Lender, listLenders } from "@collections/lenders";
import { dayIn, hoursOfDay, spanOfDay } from "@collections/local-time";
import type { CurrencyCode } from "@collections/money";
import { countLinks, type LinkCounts } from "@collections/payment-links";
import { type EndpointHealth, endpointHealth } from "@collections/webhooks";

/**
 * The figures of a lender for one day in the lender's time zone. They count what the service received on this day: a
 * payment counts on the day when it was booked, and a visit on the day when the end of the visit arrived.
 */
export interface DayFigures {
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** The booked payments with their excess, by currency. Amounts are in minor units. */
  readonly payments: readonly PaymentSum[];
  /** The payments of each local hour, in order. A day on which clocks change has 23 or 25 hours. */
  readonly hours: readonly HourFigures[];
  /** The recorded reversals, by currency. Amounts are in minor units. */
  readonly reversals: readonly ReversalSum[];
  /** Commissions that reversals took back after they had been paid out, by currency. Amounts are in minor units. */
  readonly deductions: readonly DeductionSum[];
  /** The reconciliations of windows that overlap this day. Of each window only the latest run counts. */
  readonly reconciliations: ReconciliationCounts;
  /** The number of visits that started. */
  readonly startedVisits: number;
  /** The visits that ended, by disposition. */
  readonly visits: readonly DispositionCount[];
  /** The promises that are due on this day. They are kept or broken after the day. */
  readonly promises: PromiseCounts;
  /** The links that were requested on this day. */
  readonly links: LinkCounts;
  /** The number of field partners who started or ended a visit. */
  readonly activeFieldPartners: number;
}

/** The payments that were booked in a local hour, by currency. */
export interface HourFigures {
  /** When the hour begins. */
  readonly from: Date;
  readonly payments: readonly PaymentSum[];
}

/** The number of reconciled windows, and of the differences that their latest runs have found. */
export interface ReconciliationCounts {
  readonly windows: number;
  readonly differences: number;
}

/** The figures of a lender for a day, for the day before, and for now. */
export interface LenderFigures {
  readonly lender: Lender;
  readonly day: DayFigures;
  readonly dayBefore: DayFigures;
  /** The open cases without a field partner now. */
  readonly unassignedCases: UnassignedCases;
  /** The state of the lender's endpoints now. */
  readonly endpoints: EndpointHealth;
}

/** A request for a page of figures, one item for each lender. */
export interface FiguresPage {
  /** `YYYY-MM-DD`, read in the time zone of each lender. Default: the lender's day at `now`. */
  readonly day?: string | undefined;
  /** The time that decides which day is today. */
  readonly now: Date;
  /** The code of the last lender of the previous page; undefined for the first page. */
  readonly after?: string | undefined;
  /** The maximum number of lenders, 1 or more. */
  readonly limit: number;
}

/**
 * Returns the figures of a lender for a day `YYYY-MM-DD` in its time zone, beside those of the day before. Reads at most
 * `mostUnassigned` unassigned cases, by default 20,000.
 *
 * @example
 * const { day, dayBefore, unassignedCases } = await figuresOfDay(em, lender, "2026-11-20");
 * const change = day.activeFieldPartners - dayBefore.activeFieldPartners;
 */
export async function figuresOfDay(
  em: EntityManager,
  lender: Lender,
  day: string,
  options: { readonly mostUnassigned?: number } = {},
): Promise<LenderFigures> {
  // The day that ends where `day` begins. In a zone that has skipped a whole day, it is not the previous date.
  const dayBefore = dayIn(lender.timeZone, new Date(spanOfDay(day, lender.timeZone).from.getTime() - 1));
  const { days, ...now } = await figuresOf(em, lender, [dayBefore, day], options);
  return { lender, day: days[1]!, dayBefore: days[0]!, ...now };
}

/**
 * Returns a page of the figures of all lenders, in the order of the lenders' codes, and the code after which the next page
 * begins; null after the last page. The queries of a lender read only the rows of the two days.
 *
 * @example
 * const { items, next } = await figuresOfLenders(em, { now, limit: 50 });
 * for (const { lender, day } of items) console.log(lender.code, day.activeFieldPartners);
 */
export async function figuresOfLenders(
  em: EntityManager,
  { day, now, after, limit }: FiguresPage,
): Promise<{ readonly items: readonly LenderFigures[]; readonly next: string | null }> {
  const all = (await listLenders(em)).toSorted((a, b) => (a.code < b.code ? -1 : 1));
  const remaining = all.filter(({ code }) => after === undefined || code > after);
  const items: LenderFigures[] = [];
  for (const lender of remaining.slice(0, limit)) {
    items.push(await figuresOfDay(em, lender, day ?? dayIn(lender.timeZone, now)));
  }
  return { items, next: remaining.length > limit ? items.at(-1)!.lender.code : null };
}

/** The figures of a lender for its present day. */
export type TodayFigures = Omit<LenderFigures, "dayBefore">;

/**
 * Returns the figures of all lenders, each for its day at `now`.
 *
 * @example
 * for (const { lender, day } of await figuresOfToday(em, now)) console.log(lender.code, day.activeFieldPartners);
 */
export async function figuresOfToday(em: EntityManager, now: Date): Promise<TodayFigures[]> {
  const figures: TodayFigures[] = [];
  for (const lender of await listLenders(em)) {
    const { days, ...ofNow } = await figuresOf(em, lender, [dayIn(lender.timeZone, now)]);
    figures.push({ lender, day: days[0]!, ...ofNow });
  }
  return figures;
}

/** Returns the figures of successive days with one query for each package that has them. */
async function figuresOf(
  em: EntityManager,
  { id, timeZone }: Lender,
  names: readonly string[],
  { mostUnassigned }: { readonly mostUnassigned?: number } = {},
) {
  const days = names.map((day) => ({ day, ...spanOfDay(day, timeZone), hours: hoursOfDay(day, timeZone) }));
  const end = days.at(-1)!.to;
  const bounds = [...days.map(({ from }) => from), end];
  // On a busy day the sums take longest, so the other queries run beside them.
  const [ofHours, { windows, deductions, counts, links, endpoints }] = await Promise.all([
    recordedSums(em, id, [...days.flatMap(({ hours }) => hours), end]),
    otherFigures(),
  ]);
  let past = 0;
  return {
    days: days.map(({ hours, ...day }, index): DayFigures => {
      const recorded = ofHours.slice(past, (past += hours.length));
      const { startedVisits, visits, promises, activeFieldPartners } = counts.days[index]!;
      return {
        day: day.day,
        payments: sumOfPayments(recorded),
        hours: hours.map((from, hour) => ({ from, payments: recorded[hour]!.payments })),
        reversals: sumOfReversals(recorded),
        deductions: deductions[index]!,
        reconciliations: countsOf(windows, day),
        startedVisits,
        visits,
        promises,
        links: links[index]!,
        activeFieldPartners,
      };
    }),
    unassignedCases: counts.unassigned,
    endpoints,
  };

  async function otherFigures() {
    return {
      windows: await reconciledWindows(em, id, { from: days[0]!.from, to: end }),
      deductions: await deductionSums(em, id, bounds),
      counts: await dayCounts(em, id, days, { mostUnassigned }),
      links: await countLinks(em, id, bounds),
      endpoints: await endpointHealth(em, id),
    };
  }
}

function sumOfPayments(hours: readonly RecordedSums[]): PaymentSum[] {
  return byCurrency(hours.flatMap(({ payments }) => payments)).map(([currency, sums]) => ({
    currency,
    payments: total(sums.map(({ payments }) => payments)),
    amountMinor: totalMinor(sums.map(({ amountMinor }) => amountMinor)),
    withExcess: total(sums.map(({ withExcess }) => withExcess)),
    excessMinor: totalMinor(sums.map(({ excessMinor }) => excessMinor)),
  }));
}

function sumOfReversals(hours: readonly RecordedSums[]): ReversalSum[] {
  return byCurrency(hours.flatMap(({ reversals }) => reversals)).map(([currency, sums]) => ({
    currency,
    reversals: total(sums.map(({ reversals }) => reversals)),
    amountMinor: totalMinor(sums.map(({ amountMinor }) => amountMinor)),
  }));
}

/** Groups sums by currency, in the order of the currencies. */
function byCurrency<Sum extends { readonly currency: CurrencyCode }>(sums: readonly Sum[]) {
  return [...Map.groupBy(sums, ({ currency }) => currency)].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function totalMinor(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

/** Counts the windows that overlap a day. */
function countsOf(windows: readonly ReconciledWindow[], { from, to }: CountedDay): ReconciliationCounts {
  const ofDay = windows.filter((window) => window.from < to && window.to > from);
  return { windows: ofDay.length, differences: total(ofDay.map(({ differences }) => differences)) };
}
