import type { Tx } from "@collections/entities";
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
  description: "A request for a payment link.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new request. A repeat of the request has the same UUID.",
    }),
    visitId: t.field({ type: "UUID", required: true, description: "The `visitId` of one of your visits." }),
    amount: t.field({ type: MoneyInput, required: true, description: "The amount that the borrower is asked to pay." }),
    channels: t.field({
      type: [ChannelRef],
      description:
        "The channels over which the link is sent; by default all. With an empty list the link is only shown.",
    }),
    occurredAt: t.field({
      type: "DateTime",
      description:
        "When the link was requested, by the phone's clock. The link becomes UNAVAILABLE if the request is already 10 " +
        "minutes old, or if its time is before 2000 or more than a day in the future.",
    }),
  }),
});

const RequestPaymentLinkPayload = builder.objectRef<Requested>("RequestPaymentLinkPayload").implement({
  description: "A link that is being requested from the lender.",
  fields: (t) => ({
    paymentLink: t.field({
      type: PaymentLinkRef,
      description: "The link, which is REQUESTED at first. Watch it with `paymentLinkUpdated`, or query it again.",
      async resolve({ linkId }, _, { reads }) {
        const link = await reads.ownLink.load(linkId);
        if (!link) throw new Error("The payment link was not found, although links are never deleted.");
        return link;
      },
    }),
  }),
});

builder.mutationField("requestPaymentLink", (t) =>
  t.field({
    type: RequestPaymentLinkPayload,
    nullable: true,
    description: "Requests a payment link from the lender. Answers at once, before the lender has created the link.",
    args: { input: t.arg({ type: RequestPaymentLinkInput, required: true, description: "The requested link." }) },
    errors: {
      types: [CaseNotWorkableError, AmountNotAllowedError, VisitNotFoundError, IdempotencyConflictError],
      union: { description: "The link, which is not minted yet, or the reason why no link is requested." },
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
