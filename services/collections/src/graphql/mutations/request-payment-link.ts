import type { Tx } from "@collections/database";
import { queueLinkRequest, type PaymentLinkRequest, requestPaymentLink } from "@collections/flows";
import { requested, type Requested } from "../../mutation-results/outcomes.ts";
import { type Kept, visitNotFound } from "../../mutation-results/refusal.ts";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { MoneyInput, moneyOf } from "../plumbing/money.ts";
import { keptOrThrown, once } from "../plumbing/once.ts";
import { ChannelRef, PaymentLinkRef } from "../types/payment-link.ts";
import {
  AmountNotAllowedError,
  CaseNotWorkableError,
  IdempotencyConflictError,
  VisitNotFoundError,
} from "../plumbing/user-error.ts";

const RequestPaymentLinkInput = builder.inputType("RequestPaymentLinkInput", {
  description: "A link that the borrower is to pay by.",
  fields: (t) => ({
    idempotencyKey: t.field({ type: "UUID", required: true, description: "A new one for each new intention." }),
    visitId: t.field({ type: "UUID", required: true, description: "The `visitId` of one of your visits." }),
    amount: t.field({ type: MoneyInput, required: true, description: "What the borrower is to pay." }),
    channels: t.field({
      type: [ChannelRef],
      description: "Where to send it: every channel unless given, none at all to show it only.",
    }),
    occurredAt: t.field({
      type: "DateTime",
      description:
        "When it was asked for, by the phone's clock: a wish that is 10 minutes old brings no link any more.",
    }),
  }),
});

const RequestPaymentLinkPayload = builder.objectRef<Requested>("RequestPaymentLinkPayload").implement({
  description: "A link that the lender is being asked for.",
  fields: (t) => ({
    paymentLink: t.field({
      type: PaymentLinkRef,
      description: "REQUESTED at first: watch it by `paymentLinkUpdated`, or ask again.",
      async resolve({ linkId }, _, { reads }) {
        const link = await reads.ownLink.load(linkId);
        if (!link) throw new Error("A payment link has disappeared: links are never deleted.");
        return link;
      },
    }),
  }),
});

builder.mutationField("requestPaymentLink", (t) =>
  t.field({
    type: RequestPaymentLinkPayload,
    nullable: true,
    description: "Asks the lender for a link, and answers at once.",
    args: { input: t.arg({ type: RequestPaymentLinkInput, required: true, description: "The link." }) },
    errors: {
      types: [CaseNotWorkableError, AmountNotAllowedError, VisitNotFoundError, IdempotencyConflictError],
      union: { description: "The link, not minted yet, or why none is asked for." },
    },
    resolve(_, { input }, context) {
      const { visitId, amount, channels, occurredAt } = input;
      const { minor, currency } = moneyOf(amount);
      const linkRequest: PaymentLinkRequest = {
        fieldPartnerId: viewer(context).id,
        visitId,
        amountMinor: minor,
        currency,
        ...(channels && { channels }),
        ...(occurredAt && { occurredAt }),
      };
      return once(context, "requestPaymentLink", input, (tx) => request(tx, input.idempotencyKey, linkRequest));
    },
  }),
);

async function request(tx: Tx, key: string, linkRequest: PaymentLinkRequest): Promise<Kept<Requested>> {
  const outcome = await requestPaymentLink(tx, linkRequest, {});
  if (outcome.kind === "visit_not_found")
    return { refusal: visitNotFound(await queueLinkRequest(tx, key, linkRequest)) };
  return keptOrThrown(requested(outcome));
}
