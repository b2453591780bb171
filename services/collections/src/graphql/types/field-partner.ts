import { countVisits } from "@collections/cases";
import { earningsSummary, spanOf } from "@collections/earnings";
import type { FieldPartner } from "@collections/field-partners";
import { collectedBy } from "@collections/ledger";
import type { Span } from "@collections/local-time";
import { money } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { MoneyRef } from "../plumbing/money.ts";

const TodayRef = builder.objectRef<{ readonly span: Span }>("Today").implement({
  description: "Your day so far, where you are. Amounts are once per currency, none where there was nothing.",
  fields: (t) => ({
    visits: t.int({
      description: "How many visits you have begun.",
      resolve: ({ span }, _, context) => countVisits(context.reads.em, viewer(context).id, span),
    }),
    collected: t.field({
      type: [MoneyRef],
      description: "What borrowers have paid through your work.",
      async resolve({ span }, _, context) {
        const sums = await collectedBy(context.reads.em, viewer(context).id, span);
        return sums.map(({ amountMinor, currency }) => money(amountMinor, currency));
      },
    }),
    earned: t.field({
      type: [MoneyRef],
      description: "What you have earned by it.",
      async resolve({ span }, _, context) {
        const sums = await earningsSummary(context.reads.em, viewer(context).id, span);
        return sums.map(({ earnedMinor, currency }) => money(earnedMinor, currency));
      },
    }),
  }),
});

const FieldPartnerRef = builder.objectRef<FieldPartner>("FieldPartner");

builder.node(FieldPartnerRef, {
  description: "A person who visits borrowers: you.",
  id: { resolve: ({ id }) => id, description: "Opaque and the same for good." },
  loadWithoutCache: (id, context) => (id === viewer(context).id ? viewer(context) : null),
  fields: (t) => ({
    displayName: t.exposeString("displayName", { description: "Your name, as lenders and borrowers see it." }),
    timeZone: t.exposeString("timeZone", { description: "Where your day begins: a name of the IANA database." }),
    today: t.field({
      type: TodayRef,
      description: "Your day so far.",
      resolve: ({ timeZone }) => ({ span: spanOf("today", timeZone, new Date()) }),
    }),
  }),
});

builder.queryField("viewer", (t) =>
  t.field({
    type: FieldPartnerRef,
    nullable: true,
    description: "Who is signed in.",
    resolve: (_root, _args, context) => viewer(context),
  }),
);
