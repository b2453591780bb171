import {
  bucketOf,
  type CaseKey,
  type CaseStatus,
  type OwnCase,
  type Visit,
  visitCursor,
  visitsOfCase,
} from "@collections/cases";
import { publicId } from "@collections/database";
import { type FieldWorkRefusal, fieldWorkRefusal } from "@collections/flows";
import { money } from "@collections/money";
import { blockedWords } from "../../mutation-results/blocked-words.ts";
import { BorrowerRef } from "./borrower.ts";
import { builder } from "../plumbing/builder.ts";
import { connectionOf, pageArgs, pageComplexity, pageOf, readPage } from "../plumbing/connection.ts";
import type { Context } from "../plumbing/context.ts";
import { EarningRef } from "./earning.ts";
import { estimatedEarning, EstimateRef } from "./earning-estimate.ts";
import { FallbackRef, fallbackOf, LenderRef } from "./lender.ts";
import { MoneyInput, MoneyRef, moneyOf } from "../plumbing/money.ts";
import { PaymentLinkRef } from "./payment-link.ts";
import { PaymentReversalRef } from "./payment-reversal.ts";
import { PromiseRef, VisitRef } from "./visit.ts";

const LOAN_TAIL_CHARS = 4;
/** The complexity of a list in a case that has a few items at most, such as one for each payment. */
const FEW = { field: 1, multiplier: 3 };
const NO_FALLBACK = { upiUri: null, qrSvg: null, bankAccount: null, instructions: null };

export const StatusRef = builder.enumType("CaseStatus", {
  description: "The status of a case.",
  values: {
    NEW: { value: "new", description: "No field partner has the case." },
    ASSIGNED: { value: "assigned", description: "You have the case, and no work has begun." },
    IN_PROGRESS: { value: "in_progress", description: "Work has begun, or a part of the amount was paid." },
    ON_HOLD: { value: "on_hold", description: "No contact with the borrower is allowed." },
    COLLECTED: { value: "collected", description: "The case was paid in full." },
    CLOSED: { value: "closed", description: "The case ended without full payment." },
    WITHDRAWN: { value: "withdrawn", description: "The lender has taken the case back." },
  } satisfies Record<string, { value: CaseStatus; description: string }>,
});

const BlockedReasonRef = builder.enumType("BlockedReasonCode", {
  description: "A reason why a case is not workable. Later versions may have more values.",
  values: {
    ENDED: { description: "The case has ended." },
    ON_HOLD: { description: "No contact with the borrower is allowed." },
    NOT_ASSIGNED: { description: "No field partner has the case." },
    DO_NOT_CONTACT: { description: "The lender allows no contact before a certain day." },
    LENDER_SUSPENDED: { description: "The lender is suspended." },
  } satisfies Record<FieldWorkRefusal, { description: string }>,
});

const VisitsRef = builder.connectionObject(
  { type: VisitRef, name: "CaseVisitsConnection", description: "A page of visits." },
  { name: "CaseVisitsConnectionEdge", description: "A visit in the list." },
);

export const CaseRef = builder.objectRef<OwnCase>("Case");

builder.node(CaseRef, {
  description: "A case: one period in which a loan is collected.",
  id: { resolve: ({ id }) => id, description: "An opaque id that never changes. Inputs call it `caseId`." },
  loadWithoutCache: (id, { reads }) => reads.ownCase.load(id),
  fields: (t) => ({
    caseId: t.string({
      description: "The public id of the case, such as case_…, which the lender sees too.",
      resolve: ({ id }) => publicId("case", id),
    }),
    loanTail: t.string({
      description: "The last characters of the loan number, to recognise the loan.",
      resolve: ({ sourceLoanNumber }) => sourceLoanNumber.slice(-LOAN_TAIL_CHARS),
    }),
    lender: t.field({
      type: LenderRef,
      description: "The lender of the loan.",
      resolve: ({ lenderId }, _, { reads }) => reads.lender.load(lenderId),
    }),
    status: t.expose("status", { type: StatusRef, description: "The status of the case." }),
    workable: t.boolean({
      description: "Whether you may visit the borrower and request links now.",
      resolve: async (theCase, _, context) => (await blockedNow(theCase, context)) === undefined,
    }),
    blockedReason: t.string({
      nullable: true,
      description: "The reason why the case is not workable, in words; null while it is workable.",
      async resolve(theCase, _, context) {
        const reason = await blockedNow(theCase, context);
        return reason && blockedWords(reason);
      },
    }),
    blockedReasonCode: t.field({
      type: BlockedReasonRef,
      nullable: true,
      description: "The reason why the case is not workable, for an app with its own texts; null while it is workable.",
      resolve: async (theCase, _, context) => (await blockedNow(theCase, context)) ?? null,
    }),
    borrower: t.field({ type: BorrowerRef, description: "The borrower to visit.", resolve: (theCase) => theCase }),
    outstanding: t.field({
      type: MoneyRef,
      description: "The amount that is owed now.",
      resolve: ({ outstandingMinor, currency }) => money(outstandingMinor, currency),
    }),
    totalCollected: t.field({
      type: MoneyRef,
      description: "The total amount that was paid in this cycle, minus what was reversed.",
      resolve: ({ totalCollectedMinor, currency }) => money(totalCollectedMinor, currency),
    }),
    minimum: t.field({
      type: MoneyRef,
      nullable: true,
      description: "The lowest amount that a link may request; null if the lender has set none.",
      resolve: ({ minimumMinor, currency }) => (minimumMinor === null ? null : money(minimumMinor, currency)),
    }),
    dpd: t.exposeInt("dpd", { nullable: true, description: "Days past due." }),
    bucket: t.string({ nullable: true, description: "The band of days past due, such as 31-60.", resolve: bucketOf }),
    visits: t.field({
      type: VisitsRef,
      description: "The visits of all field partners on this case, the latest first.",
      args: pageArgs,
      complexity: pageComplexity,
      async resolve(theCase, args, { reads }) {
        const { first, after } = pageOf(args);
        if (theCase.isShrunk) return connectionOf<Visit>([], { hasNextPage: false, after });
        const { items, hasNext } =
          after === undefined
            ? await reads.latestVisits(first).load(keyOf(theCase))
            : await readPage(() => visitsOfCase(reads.em, keyOf(theCase), { first, after }));
        const edges = items.map((visit) => ({ cursor: visitCursor(visit), node: visit }));
        return connectionOf(edges, { hasNextPage: hasNext, after });
      },
    }),
    openPromise: t.field({
      type: PromiseRef,
      nullable: true,
      description: "The borrower's open promise to pay; null if there is none.",
      resolve: (theCase, _, { reads }) => (theCase.isShrunk ? null : reads.openPromise.load(keyOf(theCase))),
    }),
    activeLink: t.field({
      type: PaymentLinkRef,
      nullable: true,
      description: "Your link with which the borrower can pay now; null if there is none.",
      resolve(theCase, _, { reads }) {
        if (theCase.isShrunk) return null;
        // The fields of the link load the case, to check whether the field partner may see it. Put the case into the
        // cache of that loader, because it has just been read.
        reads.ownCase.prime(theCase.id, theCase);
        return reads.activeLink.load(keyOf(theCase));
      },
    }),
    fallback: t.field({
      type: FallbackRef,
      description: "The lender's QR and bank details, for a payment without a link. The borrower enters the amount.",
      resolve: async ({ isShrunk, lenderId, currency, sourceLoanNumber }, _, { reads }) =>
        isShrunk ? NO_FALLBACK : fallbackOf(await reads.lender.load(lenderId), { currency, note: sourceLoanNumber }),
    }),
    estimatedEarning: t.field({
      type: EstimateRef,
      description: "Your earning from a payment, if the borrower made it now.",
      args: {
        amount: t.arg({
          type: MoneyInput,
          description: "The amount of the payment; by default the outstanding amount.",
        }),
      },
      resolve: async (theCase, { amount }, { reads }) =>
        estimatedEarning(theCase, await reads.lender.load(theCase.lenderId), amount ? moneyOf(amount) : undefined),
    }),
    earnings: t.field({
      type: [EarningRef],
      complexity: FEW,
      description: "Your earnings from this case, in the order of its payments.",
      resolve: async (theCase, _, { reads }) => [...(await reads.earningsOfCase.load(keyOf(theCase)))],
    }),
    reversals: t.field({
      type: [PaymentReversalRef],
      complexity: FEW,
      description: "The reversals of this case's payments, the oldest first; empty if the case is shrunk.",
      async resolve({ isShrunk, lenderId, id, sourceLoanNumber: loan }, _, { reads }) {
        if (isShrunk) return [];
        return (await reads.reversalsOfLoan.load({ lenderId, loan })).filter(({ caseId }) => caseId === id);
      },
    }),
    distanceM: t.exposeInt("distanceM", {
      nullable: true,
      description:
        "The straight-line distance from `near` to the borrower's address, in metres; null if a place is unknown.",
    }),
    isShrunk: t.exposeBoolean("isShrunk", {
      description:
        "Whether the case ended more than 7 days ago. It then shows only its id, lender, status and earnings: " +
        "other texts are empty, and other amounts are 0.",
    }),
  }),
});

builder.objectField(EarningRef, "case", (t) =>
  t.field({
    type: CaseRef,
    nullable: true,
    description: "The case of the payment; null if you no longer have the case.",
    resolve: ({ caseId }, _, { reads }) => reads.ownCase.load(caseId),
  }),
);

builder.queryField("case", (t) =>
  t.field({
    type: CaseRef,
    nullable: true,
    description: "One of your cases; null if the case is not yours.",
    args: { id: t.arg.globalID({ required: true, for: CaseRef, description: "The `id` of the case." }) },
    resolve: (_, { id: { id } }, { reads }) => reads.ownCase.load(id),
  }),
);

function keyOf({ lenderId, id }: OwnCase): CaseKey {
  return { lenderId, caseId: id };
}

/**
 * Returns the reason why the case is not workable now, if any. "Now" is the local time in the lender's country, where
 * the borrower lives.
 */
export async function blockedNow(theCase: OwnCase, { reads }: Context) {
  return fieldWorkRefusal(theCase, await reads.lender.load(theCase.lenderId), new Date());
}
