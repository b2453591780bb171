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

const StatusRef = builder.enumType("EarningStatus", {
  description: "What has become of an earning.",
  values: {
    PENDING: { value: "pending", description: "Earned, and credited when the case ends." },
    CREDITED: { value: "credited", description: "The case has ended: it is yours, and not paid out yet." },
    PAID_OUT: { value: "paid_out", description: "It was paid out." },
  } satisfies Record<string, { value: EarningStatus; description: string }>,
});

const PeriodRef = builder.enumType("Period", {
  description: "A stretch of the calendar in your time zone.",
  values: {
    TODAY: { value: "today", description: "Since midnight." },
    YESTERDAY: { value: "yesterday", description: "The day before today." },
    THIS_WEEK: { value: "week", description: "Since Monday." },
    LAST_WEEK: { value: "last_week", description: "From Monday to Sunday, before this week." },
    THIS_MONTH: { value: "month", description: "Since the first." },
    LAST_MONTH: { value: "last_month", description: "The whole month before this one." },
  } satisfies Record<string, { value: Period; description: string }>,
});

const PayoutRef = builder.objectRef<Payout>("Payout").implement({
  description: "Money that you were sent for credited earnings, by one transfer of the bank.",
  fields: (t) => ({
    reference: t.exposeString("reference", { description: "What your bank's statement calls the transfer." }),
    paidOn: t.expose("paidOn", { type: "Date", description: "The day on which it was sent." }),
    amount: t.field({
      type: MoneyRef,
      description: "All of it: the sum of its earnings.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
  }),
});

export const EarningRef = builder.objectRef<Earning>("EarningLine");

builder.node(EarningRef, {
  description: "What you have earned with one payment.",
  id: { resolve: ({ id }) => id, description: "Opaque and the same for good." },
  loadWithoutCache: (id, { reads }) => reads.ownEarning.load(id),
  fields: (t) => ({
    amount: t.field({
      type: MoneyRef,
      description: "How much.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
    status: t.expose("status", { type: StatusRef, description: "What has become of it." }),
    formula: t.string({
      description: "Why it is so much, such as 2.5% of ₹2,500.00.",
      resolve: (line) => formula(line),
    }),
    caseId: t.string({ description: "`Case.caseId`", resolve: ({ caseId }) => publicId("case", caseId) }),
    reference: t.exposeString("reference", { description: "The lender's reference of the payment." }),
    earnedAt: t.expose("earnedAt", { type: "DateTime", description: "When the payment was confirmed." }),
    creditedAt: t.expose("creditedAt", { type: "DateTime", nullable: true, description: "When the case ended." }),
    paidOutAt: t.expose("paidOutAt", {
      type: "DateTime",
      nullable: true,
      description: "When its payout was recorded.",
    }),
    payout: t.field({
      type: PayoutRef,
      nullable: true,
      description: "By which transfer it was paid out; null before.",
      resolve: ({ payoutId }, _, { reads }) => (payoutId === null ? null : reads.ownPayout.load(payoutId)),
    }),
  }),
});

interface EarningsOfPeriod {
  readonly period: Period;
  readonly span: Span;
  readonly summaries: readonly EarningsSummary[];
}

type SummedField = "earnedMinor" | "pendingMinor" | "creditedMinor" | "paidOutMinor";

const SummaryRef = builder.objectRef<EarningsOfPeriod>("EarningsSummary").implement({
  description: "What you have earned in a period: each sum once per currency, none where nothing was earned.",
  fields: (t) => {
    const sums = (field: SummedField, description: string) =>
      t.field({
        type: [MoneyRef],
        description,
        resolve: ({ summaries }) => summaries.map((summary) => money(summary[field], summary.currency)),
      });
    return {
      period: t.expose("period", { type: PeriodRef, description: "The period that was asked for." }),
      from: t.field({ type: "DateTime", description: "Its beginning.", resolve: ({ span }) => span.from }),
      to: t.field({ type: "DateTime", description: "Its end, not included.", resolve: ({ span }) => span.to }),
      earned: sums("earnedMinor", "All of it: pending, credited and paid out."),
      pending: sums("pendingMinor", "Waits for its case to end."),
      credited: sums("creditedMinor", "Yours, and not paid out yet."),
      paidOut: sums("paidOutMinor", "Paid out."),
    };
  },
});

builder.queryField("earnings", (t) =>
  t.field({
    type: SummaryRef,
    nullable: true,
    description: "What you have earned in a day, a week or a month.",
    args: { period: t.arg({ type: PeriodRef, required: true, description: "Which stretch of the calendar." }) },
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
