import type { UnassignedCases } from "@collections/cases";
import type { EntityManager } from "@collections/entities";
import { figuresOfDay } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { dayIn } from "@collections/local-time";
import { shownFunnel, shownHours } from "./charts.ts";
import { shownFigures } from "./figures.ts";
import { type OutstandingReading, type ReadOutstanding, shownOutstanding, timeOf } from "./outstanding.ts";

/** The lender whose figures are shown, and the parts that they need. */
export interface TodayWanted {
  /** The code of the lender. Undefined for the first lender. */
  readonly code: string | undefined;
  readonly now: Date;
  readonly readOutstanding: ReadOutstanding;
}

/** Returns the codes of some lenders, and today's figures and charts of one of them. */
export async function todayOfChosen(em: EntityManager, given: readonly Lender[], wanted: TodayWanted) {
  const lenders = given.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  const chosen = wanted.code === undefined ? lenders[0] : lenders.find(({ code }) => code === wanted.code);
  return {
    lenderCodes: lenders.map(({ code }) => code),
    figures: chosen && (await todayOf(em, chosen, wanted)),
  };
}

/** The maximum number of unassigned cases that a page reads itself. */
const MOST_UNASSIGNED = 2_000;

async function todayOf(em: EntityManager, lender: Lender, { now, readOutstanding }: TodayWanted) {
  const day = dayIn(lender.timeZone, now);
  const figures = await figuresOfDay(em, lender, day, { mostUnassigned: MOST_UNASSIGNED });
  const outstanding = await readOutstanding(lender.id);
  return {
    ...shownFigures(figures),
    unassignedCases: shownUnassigned(lender, figures.unassignedCases, outstanding),
    hours: shownHours(figures, now),
    funnel: { day: shownFunnel(figures.day), dayBefore: shownFunnel(figures.dayBefore) },
    outstanding: outstanding && shownOutstanding(lender, outstanding),
  };
}

/** Returns the number of unassigned cases now or, if a page does not read them all, when all cases were last read. */
function shownUnassigned(lender: Lender, { count, isComplete }: UnassignedCases, reading?: OutstandingReading) {
  if (isComplete || !reading) return { count, isComplete, at: null };
  const { at, sums } = reading;
  return { count: sums.reduce((sum, { unassigned }) => sum + unassigned, 0), isComplete: true, at: timeOf(lender, at) };
}
