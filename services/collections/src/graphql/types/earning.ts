import { publicId } from "@collections/database";
import {
  type Earning,
  earningLines,
  type EarningStatus,
  earningsSummary,
  type EarningsSummary,
  formula,
  type Payout,
  type Period,
  spanOf,
} from "@collections/earnings";
import type { Span } from "@collections/local-time";
import { money } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { connectionOf, pageArgs, pageOf, readPage, rootPageComplexity } from "../plumbing/connection.ts";
import { viewer } from "../plumbing/context.ts";
import { MoneyRef } from "../plumbing/money.ts";
import { CalculationRef } from "./earning-calculation.ts";
import { PaymentReversalRef } from "./payment-reversal.ts";

const StatusRef = builder.enumType("EarningStatus", {
  description: "The status of an earning. Later versions may have more values.",
  values: {
    PENDING: { value: "pending", description: "The case has not ended. The earning is credited when the case ends." },
    CREDITED: { value: "credited", description: "The case has ended: the earning is yours, and not paid out yet." },
    PAID_OUT: { value: "paid_out", description: "The earning was paid out." },
    REVERSED: {
      value: "reversed",
      description: "The payment was reversed before the earning was paid out. The earning no longer counts in any sum.",
    },
  } satisfies Record<string, { value: EarningStatus; description: string }>,
});

const PeriodRef = builder.enumType("Period", {
  description: "A period of the calendar in your time zone.",
  values: {
    TODAY: { value: "today", description: "Since midnight today." },
    YESTERDAY: { value: "yesterday", description: "The day before today." },
    THIS_WEEK: { value: "week", description: "Since Monday of this week." },
    LAST_WEEK: { value: "last_week", description: "The week before this week, from Monday to Sunday." },
    THIS_MONTH: { value: "month", description: "Since the first day of this month." },
    LAST_MONTH: { value: "last_month", description: "The calendar month before this month." },
  } satisfies Record<string, { value: Period; description: string }>,
});

const PayoutRef = builder.objectRef<Payout>("Payout").implement({
  description: "One bank transfer to you, for credited earnings.",
  fields: (t) => ({
    reference: t.exposeString("reference", { description: "The reference of the transfer on your bank statement." }),
    paidOn: t.expose("paidOn", { type: "Date", description: "The day on which the transfer was sent." }),
    amount: t.field({
      type: MoneyRef,
      description: "The amount of the transfer, which is the sum of its earnings.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
  }),
});

export const EarningRef = builder.objectRef<Earning>("EarningLine");

builder.node(EarningRef, {
  description:
    "Your earning from one payment, or a change of it. If a payment is reversed, its earnings become REVERSED, or a line " +
    "below 0 takes back what is no longer earned. If the earning was paid out before, the next payout from the same " +
    "lender is lower by this line.",
  id: { resolve: ({ id }) => id, description: "An opaque id that never changes." },
  loadWithoutCache: (id, { reads }) => reads.ownEarning.load(id),
  fields: (t) => ({
    amount: t.field({
      type: MoneyRef,
      description: "The amount of the earning. It is below 0 for a line that takes an earning back.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
    status: t.expose("status", { type: StatusRef, description: "The status of the earning." }),
    formula: t.string({
      description:
        "The calculation of the amount, such as 2.5% of ₹2,500.00. The line of a reversal names the base before it too: " +
        "2.5% of ₹1,500.00 instead of ₹2,500.00.",
      resolve: (line) => formula(line),
    }),
    calculation: t.field({
      type: CalculationRef,
      description: "The calculation of the amount, for an app with its own texts.",
      resolve: (line) => line,
    }),
    caseId: t.string({ description: "The `caseId` of the case.", resolve: ({ caseId }) => publicId("case", caseId) }),
    reference: t.exposeString("reference", { description: "The lender's reference of the payment." }),
    earnedAt: t.expose("earnedAt", { type: "DateTime", description: "When the payment was confirmed." }),
    creditedAt: t.expose("creditedAt", {
      type: "DateTime",
      nullable: true,
      description: "When the earning was credited, which is when the case ended; null before that.",
    }),
    paidOutAt: t.expose("paidOutAt", {
      type: "DateTime",
      nullable: true,
      description: "When the payout of the earning was recorded; null before that.",
    }),
    reversedAt: t.expose("reversedAt", {
      type: "DateTime",
      nullable: true,
      description: "When the earning became REVERSED; null before that, and for a line below 0.",
    }),
    reversal: t.field({
      type: PaymentReversalRef,
      nullable: true,
      description:
        "The reversal that made this line, or because of which the earning is REVERSED. Null for any other earning.",
      async resolve({ lenderId, sourceLoanNumber: loan, reversalId, reversedById }, _, { reads }) {
        const id = reversedById ?? reversalId;
        if (id === null) return null;
        return (await reads.reversalsOfLoan.load({ lenderId, loan })).find((reversal) => reversal.id === id) ?? null;
      },
    }),
    payout: t.field({
      type: PayoutRef,
      nullable: true,
      description: "The payout of the earning; null until the earning is paid out.",
      resolve: ({ payoutId }, _, { reads }) => (payoutId === null ? null : reads.ownPayout.load(payoutId)),
    }),
  }),
});

interface EarningsOfPeriod {
  readonly period: Period;
  readonly span: Span;
  readonly summaries: readonly EarningsSummary[];
}

type SummedField = "earnedMinor" | "pendingMinor" | "creditedMinor" | "paidOutMinor" | "deductedMinor";

const SummaryRef = builder.objectRef<EarningsOfPeriod>("EarningsSummary").implement({
  description:
    "Your earnings in a period. Each list has one sum for each currency in which you earned something. A sum is below 0 " +
    "if reversals of payments took back more than you earned in the period.",
  fields: (t) => {
    const sums = (field: SummedField, description: string) =>
      t.field({
        type: [MoneyRef],
        description,
        resolve: ({ summaries }) => summaries.map((summary) => money(summary[field], summary.currency)),
      });
    return {
      period: t.expose("period", { type: PeriodRef, description: "The requested period." }),
      from: t.field({
        type: "DateTime",
        description: "The beginning of the period.",
        resolve: ({ span }) => span.from,
      }),
      to: t.field({
        type: "DateTime",
        description: "The end of the period, exclusive.",
        resolve: ({ span }) => span.to,
      }),
      earned: sums("earnedMinor", "All earnings: pending, credited and paid out, after deductions."),
      pending: sums("pendingMinor", "The earnings of cases that have not ended."),
      credited: sums("creditedMinor", "The earnings that are credited and not paid out yet."),
      paidOut: sums("paidOutMinor", "The earnings that are paid out."),
      deducted: sums(
        "deductedMinor",
        "The sum of the lines below 0, as an amount of at least 0. All other sums are after this deduction.",
      ),
    };
  },
});

builder.queryField("earnings", (t) =>
  t.field({
    type: SummaryRef,
    nullable: true,
    description: "Your earnings in a day, a week or a month.",
    args: { period: t.arg({ type: PeriodRef, required: true, description: "The period of the earnings." }) },
    async resolve(_, { period }, context) {
      const { id, timeZone } = viewer(context);
      const span = spanOf(period, timeZone, new Date());
      return { period, span, summaries: await earningsSummary(context.reads.em, id, span) };
    },
  }),
);

const LinesRef = builder.connectionObject(
  { type: EarningRef, name: "QueryEarningLinesConnection", description: "A page of earnings." },
  { name: "QueryEarningLinesConnectionEdge", description: "An earning in the list." },
);

builder.queryField("earningLines", (t) =>
  t.field({
    type: LinesRef,
    nullable: true,
    description: "Your earnings, the latest first.",
    args: pageArgs,
    complexity: rootPageComplexity,
    async resolve(_, args, context) {
      const page = pageOf(args);
      const { lines, hasNextPage } = await readPage(() => earningLines(context.reads.em, viewer(context).id, page));
      const edges = lines.map(({ cursor, earning }) => ({ cursor, node: earning }));
      return connectionOf(edges, { hasNextPage, after: page.after });
    },
  }),
);
