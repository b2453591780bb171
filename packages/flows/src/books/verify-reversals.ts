import {
  bookingsByIds,
  excessAppliedByBalances,
  remainingOf,
  type Reversal,
  reversalPage,
  reversalsOf,
} from "@collections/bookings";
import { publicId, readSnapshot } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { commissionOn, earningsOfBookings } from "@collections/earnings";
import { type CurrencyCode, toDecimal } from "@collections/money";
import { eventsAt, holdEvents, type StoredEvent } from "@collections/webhooks";
import { shown } from "./booking-event-fields.ts";

/** A reversal that differs from its event, or earnings that do not follow it. */
export interface ReversalProblem {
  readonly code: "EVENT_UNLIKE_REVERSAL" | "REVERSAL_EVENT_MISSING" | "EARNINGS_UNLIKE_REVERSALS";
  readonly table: "event" | "payment_reversal" | "earning";
  readonly id: string;
  readonly lenderId: string;
  readonly detail: string;
}

const PAGE = 500;
const KIND = "payment.reversed";

/**
 * Compares each reversal of a lender with its `payment.reversed` event, and checks that the earnings on the reversed
 * payments, and on payments whose excess was applied, add up to the commission on what is applied now.
 */
export async function verifyReversals(em: EntityManager, lenderId: string): Promise<ReversalProblem[]> {
  const problems: ReversalProblem[] = [];
  let after: string | undefined;
  do {
    const page = await readSnapshot(em, async (tx) => {
      await holdEvents(tx);
      const reversals = await reversalPage(tx, lenderId, after, PAGE);
      return {
        problems: [...(await checkEvents(tx, lenderId, reversals)), ...(await checkEarnings(tx, lenderId, reversals))],
        last: reversals.length === PAGE ? reversals.at(-1)?.id : undefined,
      };
    });
    problems.push(...page.problems);
    after = page.last;
  } while (after !== undefined);
  return problems;
}

async function checkEvents(tx: Tx, lenderId: string, reversals: readonly Reversal[]): Promise<ReversalProblem[]> {
  const keys = reversals.map(({ sourceLoanNumber: loan, sequence }) => ({ loan, sequence }));
  const found = await eventsAt(tx, lenderId, KIND, keys);
  return reversals.flatMap((reversal, index): ReversalProblem[] => {
    const { event, isLetGo } = found[index]!;
    const name = `Loan ${reversal.sourceLoanNumber}, reversal ${reversal.reversalReference}`;
    if (!event) {
      const detail = `${name} has no ${KIND} event at sequence ${reversal.sequence}.`;
      const missing = { table: "payment_reversal", id: reversal.id, lenderId, detail } as const;
      return isLetGo ? [] : [{ code: "REVERSAL_EVENT_MISSING", ...missing }];
    }
    const differences = differencesBetween(reversal, event);
    if (differences.length === 0) return [];
    const detail = `${name}: ${differences.join("; ")}.`;
    const id = publicId("evt", event.eventId);
    return [{ code: "EVENT_UNLIKE_REVERSAL", table: "event", id, lenderId, detail }];
  });
}

function differencesBetween(reversal: Reversal, event: StoredEvent): string[] {
  const { currency } = reversal;
  const body = objectIn(event.body);
  const data = Object(body["data"]) as Record<string, unknown>;
  const said: Record<string, unknown> = { ...data, sourceLoanNumber: body["sourceLoanNumber"] };
  const recorded: Record<string, unknown> = {
    sourceLoanNumber: reversal.sourceLoanNumber,
    reference: reversal.reference,
    reversalReference: reversal.reversalReference,
    amount: major(reversal.amountMinor, currency),
    reason: reversal.reason,
    reversedAt: reversal.reversedAt.toISOString(),
    caseId: publicId("case", reversal.caseId),
    cycle: reversal.cycle,
    inBalance: reversal.inBalance,
    totalReversed: major(reversal.totalReversedAfterMinor, currency),
    excessAmount: major(reversal.excessAfterMinor, currency),
  };
  return Object.entries(recorded).flatMap(([field, value]) =>
    said[field] === value ? [] : [`${field} is ${shown(said[field])} in the event, ${shown(value)} in the reversal`],
  );
}

function objectIn(body: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(body)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function major(minor: bigint, currency: CurrencyCode): number {
  return Number(toDecimal(minor, currency));
}

async function checkEarnings(tx: Tx, lenderId: string, reversals: readonly Reversal[]): Promise<ReversalProblem[]> {
  const ids = reversals.flatMap(({ bookingId, reapplied }) => [bookingId, ...reapplied.map((held) => held.bookingId)]);
  const bookings = await bookingsByIds(tx, lenderId, [...new Set(ids)]);
  const lines = await earningsOfBookings(tx, lenderId, [...new Set(ids)]);
  const problems: ReversalProblem[] = [];
  for (const [loan, ofLoan] of Map.groupBy(bookings, ({ sourceLoanNumber }) => sourceLoanNumber)) {
    const all = await reversalsOf(tx, lenderId, loan);
    const applied = await excessAppliedByBalances(tx, lenderId, [loan]);
    for (const booking of ofLoan) {
      const own = lines.filter(({ bookingId }) => bookingId === booking.id);
      const [first] = own;
      if (!first) continue;
      const counted = own.filter(({ status }) => status !== "reversed");
      const earnedMinor = counted.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
      const { appliedMinor } = remainingOf(booking, all, applied);
      const dueMinor = commissionOn(appliedMinor, first.percent);
      if (earnedMinor === dueMinor) continue;
      const detail = `Loan ${loan}, payment ${booking.reference}: ${appliedMinor} are applied, which earns ${dueMinor}; its lines add up to ${earnedMinor} (minor units).`;
      problems.push({ code: "EARNINGS_UNLIKE_REVERSALS", table: "earning", id: first.id, lenderId, detail });
    }
  }
  return problems;
}
