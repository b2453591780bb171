import { collectedBy } from "@collections/bookings";
import { countVisits } from "@collections/cases";
import { earningsSummary, spanOf } from "@collections/earnings";
import type { FieldPartner } from "@collections/field-partners";
import type { Span } from "@collections/local-time";
import { money } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { MoneyRef } from "../plumbing/money.ts";

const TodayRef = builder.objectRef<{ readonly span: Span }>("Today").implement({
  description:
    "Your numbers since midnight in your time zone. Each list has one amount per currency, and none for a " +
    "currency without payments.",
  fields: (t) => ({
    visits: t.int({
      description: "The number of visits that you have begun.",
      resolve: ({ span }, _, context) => countVisits(context.reads.em, viewer(context).id, span),
    }),
    collected: t.field({
      type: [MoneyRef],
      description: "The payments of borrowers that are attributed to you, without amounts that were reversed later.",
      async resolve({ span }, _, context) {
        const sums = await collectedBy(context.reads.em, viewer(context).id, span);
        return sums.map(({ amountMinor, currency }) => money(amountMinor, currency));
      },
    }),
    earned: t.field({
      type: [MoneyRef],
      description: "Your earnings of this day, after the deductions for payments that were reversed today.",
      async resolve({ span }, _, context) {
        const sums = await earningsSummary(context.reads.em, viewer(context).id, span);
        return sums.map(({ earnedMinor, currency }) => money(earnedMinor, currency));
      },
    }),
  }),
});

const FieldPartnerRef = builder.objectRef<FieldPartner>("FieldPartner");

builder.node(FieldPartnerRef, {
  description: "A field partner: a person who visits borrowers. The API returns only you.",
  id: { resolve: ({ id }) => id, description: "An opaque id that never changes." },
  loadWithoutCache: (id, context) => (id === viewer(context).id ? viewer(context) : null),
  fields: (t) => ({
    displayName: t.exposeString("displayName", { description: "Your name, as lenders and borrowers see it." }),
    timeZone: t.exposeString("timeZone", {
      description: "Your time zone, as a name of the IANA database. Your day begins at midnight there.",
    }),
    today: t.field({
      type: TodayRef,
      description: "Your numbers for today.",
      resolve: ({ timeZone }) => ({ span: spanOf("today", timeZone, new Date()) }),
    }),
  }),
});

builder.queryField("viewer", (t) =>
  t.field({
    type: FieldPartnerRef,
    nullable: true,
    description: "The field partner who is signed in.",
    resolve: (_root, _args, context) => viewer(context),
  }),
);
