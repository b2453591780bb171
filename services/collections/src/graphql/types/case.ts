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
import { fieldWorkRefusal } from "@collections/flows";
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
import { PromiseRef, VisitRef } from "./visit.ts";

const LOAN_TAIL_CHARS = 4;
const NO_FALLBACK = { upiUri: null, qrSvg: null, bankAccount: null, instructions: null };

export const StatusRef = builder.enumType("CaseStatus", {
  description: "How far the work on a case is.",
  values: {
    NEW: { value: "new", description: "Nobody has it." },
    ASSIGNED: { value: "assigned", description: "You have it, and no work has begun." },
    IN_PROGRESS: { value: "in_progress", description: "Work has begun, or a part was paid." },
    ON_HOLD: { value: "on_hold", description: "No contact with the borrower." },
    COLLECTED: { value: "collected", description: "Paid in full." },
    CLOSED: { value: "closed", description: "Ended without full payment." },
    WITHDRAWN: { value: "withdrawn", description: "Taken back by the lender." },
  } satisfies Record<string, { value: CaseStatus; description: string }>,
});

const VisitsRef = builder.connectionObject(
  { type: VisitRef, name: "CaseVisitsConnection", description: "A page of visits." },
  { name: "CaseVisitsConnectionEdge", description: "A visit in the list." },
);

export const CaseRef = builder.objectRef<OwnCase>("Case");

builder.node(CaseRef, {
  description: "A loan that you collect, in one of its cycles.",
  id: { resolve: ({ id }) => id, description: "Opaque and the same for good: the `caseId` of inputs." },
  loadWithoutCache: (id, { reads }) => reads.ownCase.load(id),
  fields: (t) => ({
    caseId: t.string({
      description: "The id that lenders see, for people.",
      resolve: ({ id }) => publicId("case", id),
    }),
    loanTail: t.string({
      description: "The end of the loan's number, to recognise it by.",
      resolve: ({ sourceLoanNumber }) => sourceLoanNumber.slice(-LOAN_TAIL_CHARS),
    }),
    lender: t.field({
      type: LenderRef,
      description: "Who is owed.",
      resolve: ({ lenderId }, _, { reads }) => reads.lender.load(lenderId),
    }),
    status: t.expose("status", { type: StatusRef, description: "How far the work is." }),
    workable: t.boolean({
      description: "Whether you may visit the borrower and ask for a link now.",
      resolve: async (theCase, _, context) => (await blockedNow(theCase, context)) === undefined,
    }),
    blockedReason: t.string({
      nullable: true,
      description: "Why not, in words; null while the case is workable.",
      async resolve(theCase, _, context) {
        const reason = await blockedNow(theCase, context);
        return reason && blockedWords(reason);
      },
    }),
    borrower: t.field({ type: BorrowerRef, description: "Who is to be visited.", resolve: (theCase) => theCase }),
    outstanding: t.field({
      type: MoneyRef,
      description: "What is owed now.",
      resolve: ({ outstandingMinor, currency }) => money(outstandingMinor, currency),
    }),
    totalCollected: t.field({
      type: MoneyRef,
      description: "What was paid in this cycle.",
      resolve: ({ totalCollectedMinor, currency }) => money(totalCollectedMinor, currency),
    }),
    minimum: t.field({
      type: MoneyRef,
      nullable: true,
      description: "The least that a link may ask for; null when the lender has set none.",
      resolve: ({ minimumMinor, currency }) => (minimumMinor === null ? null : money(minimumMinor, currency)),
    }),
    dpd: t.exposeInt("dpd", { nullable: true, description: "Days past due." }),
    bucket: t.string({ nullable: true, description: "The band of days past due.", resolve: bucketOf }),
    visits: t.field({
      type: VisitsRef,
      description: "Everybody's visits on this case, the latest first.",
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
      description: "The promise that the borrower has made and not kept yet.",
      resolve: (theCase, _, { reads }) => (theCase.isShrunk ? null : reads.openPromise.load(keyOf(theCase))),
    }),
    activeLink: t.field({
      type: PaymentLinkRef,
      nullable: true,
      description: "The link of yours by which the borrower can pay now.",
      resolve(theCase, _, { reads }) {
        if (theCase.isShrunk) return null;
        // The fields of the link load its case to check whether it may be seen, and it has just been read.
        reads.ownCase.prime(theCase.id, theCase);
        return reads.activeLink.load(keyOf(theCase));
      },
    }),
    fallback: t.field({
      type: FallbackRef,
      description: "How to pay the lender without a link; the borrower types the amount.",
      resolve: async ({ isShrunk, lenderId, currency, sourceLoanNumber }, _, { reads }) =>
        isShrunk ? NO_FALLBACK : fallbackOf(await reads.lender.load(lenderId), { currency, note: sourceLoanNumber }),
    }),
    estimatedEarning: t.field({
      type: EstimateRef,
      description: "What you would earn by a payment.",
      args: { amount: t.arg({ type: MoneyInput, description: "All that is owed unless given." }) },
      resolve: async (theCase, { amount }, { reads }) =>
        estimatedEarning(theCase, await reads.lender.load(theCase.lenderId), amount ? moneyOf(amount) : undefined),
    }),
    earnings: t.field({
      type: [EarningRef],
      description: "What you have earned on this case, in the order of its payments.",
      resolve: async (theCase, _, { reads }) => [...(await reads.earningsOfCase.load(keyOf(theCase)))],
    }),
    distanceM: t.exposeInt("distanceM", {
      nullable: true,
      description: "From `near` to the borrower's address as the crow flies, in metres; null where a place is unknown.",
    }),
    isShrunk: t.exposeBoolean("isShrunk", {
      description:
        "Whether the case ended more than 7 days ago: only id, lender, status and earnings are left; texts are empty, amounts 0.",
    }),
  }),
});

builder.queryField("case", (t) =>
  t.field({
    type: CaseRef,
    nullable: true,
    description: "One of your cases; null for anybody else's.",
    args: { id: t.arg.globalID({ required: true, for: CaseRef, description: "`Case.id`" }) },
    resolve: (_, { id: { id } }, { reads }) => reads.ownCase.load(id),
  }),
);

function keyOf({ lenderId, id }: OwnCase): CaseKey {
  return { lenderId, caseId: id };
}

/** Why the case may not be worked now. "Now" is the local time in the lender's country, where the borrower lives. */
export async function blockedNow(theCase: OwnCase, { reads }: Context) {
  return fieldWorkRefusal(theCase, await reads.lender.load(theCase.lenderId), new Date());
}
