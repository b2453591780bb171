import type { LenderTwin } from "@collections/lender-twin";
import { randomUUID } from "node:crypto";
import { lastUpdate, requestLink } from "./payment-link.ts";
import type { Phone } from "./phone.ts";
import type { LenderCode, SampleCase } from "./sample-cases.ts";

/** When a visit began: at a local hour of an earlier day, or some minutes ago. */
type Begin = { readonly daysAgo: number; readonly hour: number } | { readonly minutesAgo: number };

/** A visit of the last month, with what followed from it. Amounts are in rupees. */
export type PastVisit = Begin & {
  readonly lender: LenderCode;
  readonly loan: string;
  readonly disposition: string;
  readonly note?: string;
  /** `dueInDays` counts from today: 0 is today, and a number below 0 is an earlier day. */
  readonly promise?: { readonly amount: number; readonly dueInDays: number };
  /** The payment that the borrower made over a link of this visit. */
  readonly payment?: { readonly amount: number; readonly daysAgo: number; readonly hour: number };
  /** The lender's bank took this payment back. */
  readonly bouncedDaysAgo?: number;
};

/** The visits after which everything was collected and the commission was paid out. */
export const PAID_OUT: readonly PastVisit[] = [
  {
    lender: "SHAKTI",
    loan: "SH-2003",
    daysAgo: 7,
    hour: 10,
    disposition: "PAID_VIA_LINK",
    payment: { amount: 2_600, daysAgo: 7, hour: 10 },
  },
  {
    lender: "ACME",
    loan: "LN-1004",
    daysAgo: 6,
    hour: 11,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 4_000, dueInDays: -4 },
    payment: { amount: 4_000, daysAgo: 4, hour: 9 },
  },
];

/** The other visits of the last week, the oldest first. */
export const LAST_WEEK: readonly PastVisit[] = [
  {
    lender: "ACME",
    loan: "LN-1008",
    daysAgo: 7,
    hour: 16,
    disposition: "HARDSHIP",
    note: "Hospital stay in the family. Asks for two weeks.",
  },
  {
    lender: "ACME",
    loan: "LN-1003",
    daysAgo: 6,
    hour: 15,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 10_000, dueInDays: -3 },
    payment: { amount: 10_000, daysAgo: 4, hour: 18 },
  },
  { lender: "ACME", loan: "LN-1001", daysAgo: 5, hour: 12, disposition: "NOT_AT_HOME" },
  { lender: "BETA", loan: "BB-3004", daysAgo: 5, hour: 14, disposition: "ADDRESS_NOT_FOUND" },
  {
    lender: "SHAKTI",
    loan: "SH-2004",
    daysAgo: 5,
    hour: 17,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 1_500, dueInDays: -3 },
  },
  {
    lender: "BETA",
    loan: "BB-3001",
    daysAgo: 4,
    hour: 11,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 5_500, dueInDays: -2 },
  },
  {
    lender: "ACME",
    loan: "LN-1006",
    daysAgo: 4,
    hour: 16,
    disposition: "REFUSED_TO_PAY",
    note: "Will call the branch.",
  },
  {
    lender: "ACME",
    loan: "LN-1005",
    daysAgo: 3,
    hour: 10,
    disposition: "PAID_VIA_LINK",
    payment: { amount: 3_750, daysAgo: 3, hour: 10 },
    bouncedDaysAgo: 1,
  },
  {
    lender: "ACME",
    loan: "LN-1007",
    daysAgo: 3,
    hour: 13,
    disposition: "PAID_VIA_LINK",
    payment: { amount: 1_850, daysAgo: 3, hour: 13 },
  },
  { lender: "BETA", loan: "BB-3003", daysAgo: 3, hour: 15, disposition: "PAID_ELSEWHERE_CLAIMED" },
  {
    lender: "SHAKTI",
    loan: "SH-2006",
    daysAgo: 3,
    hour: 17,
    disposition: "SHIFTED",
    note: "The neighbour has no address.",
  },
  {
    lender: "SHAKTI",
    loan: "SH-2001",
    daysAgo: 3,
    hour: 18,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 3_000, dueInDays: 0 },
  },
  { lender: "BETA", loan: "BB-3002", daysAgo: 2, hour: 11, disposition: "DOOR_LOCKED" },
  {
    lender: "SHAKTI",
    loan: "SH-2005",
    daysAgo: 2,
    hour: 12,
    disposition: "DISPUTE",
    note: "Says that the loan was repaid in March.",
  },
  {
    lender: "ACME",
    loan: "LN-1001",
    daysAgo: 2,
    hour: 18,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 2_500, dueInDays: 0 },
    note: "Salary comes today.",
  },
  {
    lender: "ACME",
    loan: "LN-1010",
    daysAgo: 1,
    hour: 10,
    disposition: "PAID_VIA_LINK",
    payment: { amount: 2_000, daysAgo: 1, hour: 10 },
  },
  {
    lender: "ACME",
    loan: "LN-1002",
    daysAgo: 1,
    hour: 12,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 1_200, dueInDays: 1 },
  },
  { lender: "ACME", loan: "LN-1003", daysAgo: 1, hour: 15, disposition: "CALLBACK_REQUESTED" },
  {
    lender: "BETA",
    loan: "BB-3001",
    daysAgo: 1,
    hour: 17,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 5_500, dueInDays: 3 },
    note: "Missed the first promise. Asks for three more days.",
  },
  { lender: "SHAKTI", loan: "SH-2002", minutesAgo: 100, disposition: "NOT_AT_HOME" },
  {
    lender: "ACME",
    loan: "LN-1012",
    minutesAgo: 40,
    disposition: "PROMISE_TO_PAY",
    promise: { amount: 5_000, dueInDays: 2 },
  },
];

/** The parts that a past visit needs. */
export interface HistoryDeps {
  readonly phone: Phone;
  readonly twins: Readonly<Record<LenderCode, LenderTwin>>;
  readonly cases: ReadonlyMap<string, { readonly id: string; readonly sample: SampleCase }>;
  /** Returns the time at a local hour of a day, counted from today. */
  timeOf(days: number, hour: number): Date;
  /** Returns a day as `YYYY-MM-DD`, counted from today. */
  dayFromToday(days: number): string;
}

const VISIT_MINUTES = 20;

/**
 * Reports past visits as a phone reports them that had no network, and lets the borrowers pay. The visits of a case are
 * reported one after another, and the cases at the same time.
 */
export async function playHistory(deps: HistoryDeps, visits: readonly PastVisit[]): Promise<void> {
  const byCase = Map.groupBy(visits, ({ loan }) => loan);
  await Promise.all(
    [...byCase.values()].map(async (ofCase) => {
      for (const visit of ofCase) await playVisit(deps, visit);
    }),
  );
}

async function playVisit(deps: HistoryDeps, visit: PastVisit): Promise<void> {
  const { phone, twins, timeOf } = deps;
  const visitId = await reportVisit(deps, visit);
  if (visit.payment === undefined) return;
  const { amount, daysAgo, hour } = visit.payment;
  const twin = twins[visit.lender];
  const { url } = await lastUpdate(phone, await requestLink(phone, visitId, String(amount * 100)), ["SENT"]);
  const link = [...twin.links.values()].find((minted) => minted.url === url);
  if (link === undefined) throw new Error(`The lender ${visit.lender} has not minted the link ${url}.`);
  const paidAt = new Date(timeOf(-daysAgo, hour).getTime() + VISIT_MINUTES * 60_000);
  const capture = await twin.pay(link.linkId, { paidAt, confirm: false });
  requireStatus(200, await twin.confirmCapture(capture), `the payment of ${visit.loan}`);
  if (visit.bouncedDaysAgo === undefined) return;
  const reversal = {
    reference: capture.reference,
    reversalReference: `rev_${capture.reference.slice("pay_".length)}`,
    reversedAt: timeOf(-visit.bouncedDaysAgo, 9).toISOString(),
    reason: "bounced",
  };
  requireStatus(200, await twin.reverse(visit.loan, reversal), `the reversal of ${visit.loan}`);
}

/** Sends the start and the end of a visit in one operation, and returns the visit's id. */
async function reportVisit({ phone, cases, timeOf, dayFromToday }: HistoryDeps, visit: PastVisit): Promise<string> {
  const { id: caseId, sample } = cases.get(visit.loan)!;
  const visitId = randomUUID();
  const startedAt =
    "minutesAgo" in visit ? new Date(Date.now() - visit.minutesAgo * 60_000) : timeOf(-visit.daysAgo, visit.hour);
  const endedAt = new Date(startedAt.getTime() + VISIT_MINUTES * 60_000);
  const [latitude, longitude] = sample.place;
  const { promise, note, disposition } = visit;
  const start = {
    idempotencyKey: randomUUID(),
    visitId,
    caseId,
    occurredAt: startedAt.toISOString(),
    latitude,
    longitude,
    accuracyM: 15,
  };
  const end = {
    idempotencyKey: randomUUID(),
    visitId,
    disposition,
    occurredAt: endedAt.toISOString(),
    ...(note !== undefined && { note }),
    ...(promise && {
      promise: {
        amount: { minor: String(promise.amount * 100), currency: "INR" },
        dueOn: dayFromToday(promise.dueInDays),
      },
    }),
  };
  const answer = await phone.ask<Record<"start" | "end", { __typename: string }>>(
    `mutation ($start: StartVisitInput!, $end: CompleteVisitInput!) {
      start: startVisit(input: $start) { __typename ... on UserError { code message } }
      end: completeVisit(input: $end) { __typename ... on UserError { code message } }
    }`,
    { start, end },
  );
  if (answer.start.__typename !== "StartVisitPayload" || answer.end.__typename !== "CompleteVisitPayload") {
    throw new Error(`The visit of ${visit.loan} was refused: ${JSON.stringify(answer)}`);
  }
  return visitId;
}

/** Throws an Error unless the service has answered with this status. */
export function requireStatus(status: number, answer: { status: number; rawBody: string }, what: string): void {
  if (answer.status !== status) throw new Error(`The service refused ${what}: ${answer.rawBody}`);
}
