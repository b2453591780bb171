import { money } from "@collections/money";
import {
  type Channel,
  type DeliveryStatus,
  isLive,
  type LinkDelivery,
  type LinkStatus,
  type PaymentLink,
  type UnavailableReason,
} from "@collections/payment-links";
import { builder } from "../plumbing/builder.ts";
import type { Context } from "../plumbing/context.ts";
import { FallbackRef, fallbackOf } from "./lender.ts";
import { MoneyRef } from "../plumbing/money.ts";
import { watchPaymentLink } from "./watch-payment-link.ts";

const StatusRef = builder.enumType("PaymentLinkStatus", {
  description: "How far a payment link is.",
  values: {
    REQUESTED: { value: "requested", description: "The lender is being asked for it." },
    MINTED: { value: "minted", description: "It exists: show it to the borrower." },
    SENT: { value: "sent", description: "It is on its way to the borrower." },
    UNAVAILABLE: { value: "unavailable", description: "There is none: use the fallback." },
    SUPERSEDED: { value: "superseded", description: "A newer link of the case has taken its place." },
    PAID: { value: "paid", description: "The lender has confirmed a payment by it." },
  } satisfies Record<string, { value: LinkStatus; description: string }>,
});

export const ChannelRef = builder.enumType("Channel", {
  description: "A way to the borrower, besides showing the link.",
  values: {
    WHATSAPP: { value: "whatsapp", description: "From the lender's own account." },
    EMAIL: { value: "email", description: "By e-mail." },
  } satisfies Record<string, { value: Channel; description: string }>,
});

const DeliveryStatusRef = builder.enumType("LinkDeliveryStatus", {
  description: "How far a message is.",
  values: {
    QUEUED: { value: "queued", description: "About to be sent." },
    SENT: { value: "sent", description: "The channel has taken it." },
    DELIVERED: { value: "delivered", description: "It has reached the borrower." },
    READ: { value: "read", description: "The borrower has read it." },
    FAILED: { value: "failed", description: "The channel could not bring it." },
    SUPPRESSED: { value: "suppressed", description: "Not sent: no consent, or no address." },
  } satisfies Record<string, { value: DeliveryStatus; description: string }>,
});

const DeliveryRef = builder.objectRef<LinkDelivery>("LinkDelivery").implement({
  description: "One message that brings a link to the borrower.",
  fields: (t) => ({
    channel: t.expose("channel", { type: ChannelRef, description: "Over which channel." }),
    status: t.expose("status", { type: DeliveryStatusRef, description: "How far it is." }),
    failureCode: t.exposeString("failureCode", {
      nullable: true,
      description: "Why it failed or was suppressed, such as CONSENT_REFUSED.",
    }),
    updatedAt: t.expose("updatedAt", { type: "DateTime", description: "Since when." }),
  }),
});

const UNAVAILABLE_WORDS: Record<UnavailableReason, string> = {
  timeout: "The lender did not answer in time.",
  non_2xx: "The lender's system answered with an error.",
  refused: "The lender does not give a link for this payment.",
  bad_answer: "The lender's answer could not be read.",
  bad_url: "The lender's link is not safe to open.",
  connect: "The lender's system could not be reached.",
  dns: "The lender's system could not be found.",
  tls: "The connection to the lender's system is not safe.",
  blocked_address: "The lender's system is at an address that is not allowed.",
  outcome_unknown: "Nobody knows whether the lender has made a link.",
  not_configured: "The lender does not give payment links yet.",
  case_not_workable: "The case may not be worked any more: do not ask for a payment.",
  amount_not_allowed: "Less is owed by now than you have asked for.",
  asked_too_long_ago: "It was not asked for in time: ask again if you are still there.",
};

export const PaymentLinkRef = builder.objectRef<PaymentLink>("PaymentLink");

builder.node(PaymentLinkRef, {
  description: "A link by which the borrower pays the lender, asked for at the door.",
  id: { resolve: ({ id }) => id, description: "Opaque and the same for good." },
  loadWithoutCache: (id, { reads }) => reads.ownLink.load(id),
  fields: (t) => ({
    amount: t.field({
      type: MoneyRef,
      description: "What the borrower is asked to pay.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
    status: t.expose("status", { type: StatusRef, description: "How far it is." }),
    url: t.field({
      type: "URL",
      nullable: true,
      description: "Where the borrower pays; null unless it is MINTED or SENT, and once the case is not yours to see.",
      resolve: async (link, _, context) => (isLive(link) && (await showsCase(link, context)) ? link.url : null),
    }),
    deliveries: t.field({
      type: [DeliveryRef],
      description: "The messages that bring it to the borrower; none once the case is not yours to see.",
      resolve: async (link, _, context) =>
        (await showsCase(link, context)) ? [...(await context.reads.deliveries.load(link))] : [],
    }),
    fallback: t.field({
      type: FallbackRef,
      nullable: true,
      description:
        "How to pay instead, for the same amount if that is still owed; null unless the link is unavailable, and once " +
        "the case is not yours to see.",
      async resolve(link, _, context) {
        if (link.status !== "unavailable" || !(await showsCase(link, context))) return null;
        const { lenderId, amountMinor, currency, sourceLoanNumber: note, unavailableReason } = link;
        const payment = { currency, note, ...(unavailableReason !== "amount_not_allowed" && { amountMinor }) };
        return fallbackOf(await context.reads.lender.load(lenderId), payment);
      },
    }),
    unavailableReason: t.string({
      nullable: true,
      description: "Why there is no link, in words; null unless it is unavailable.",
      resolve: ({ status, unavailableReason }) =>
        status === "unavailable" && unavailableReason ? UNAVAILABLE_WORDS[unavailableReason] : null,
    }),
    paidAt: t.expose("paidAt", { type: "DateTime", nullable: true, description: "When it was paid." }),
    createdAt: t.expose("createdAt", {
      type: "DateTime",
      description: "When it was asked for; where that came out of order, when the visit's start came.",
    }),
    cameOutOfOrder: t.exposeBoolean("cameOutOfOrder", {
      description: "Whether the service heard of the wish before it heard of the visit's start.",
    }),
  }),
});

/** Whether the link may show its case. False for a case that was reassigned, or that ended a while ago. */
async function showsCase({ caseId }: PaymentLink, { reads }: Context): Promise<boolean> {
  return (await reads.ownCase.load(caseId))?.isShrunk === false;
}

builder.queryField("paymentLink", (t) =>
  t.field({
    type: PaymentLinkRef,
    nullable: true,
    description: "A link that you have asked for; null for anybody else's.",
    args: { id: t.arg.globalID({ required: true, for: PaymentLinkRef, description: "`PaymentLink.id`" }) },
    resolve: (_, { id: { id } }, { reads }) => reads.ownLink.load(id),
  }),
);

builder.subscriptionField("paymentLinkUpdated", (t) =>
  t.field({
    type: PaymentLinkRef,
    description:
      "The link as it is now, and again at each change. The stream ends once the link is PAID, UNAVAILABLE or " +
      "SUPERSEDED; when it ends before, or breaks, subscribe again.",
    args: { id: t.arg.globalID({ required: true, for: PaymentLinkRef, description: "`PaymentLink.id`" }) },
    subscribe: (_, { id: { id } }, context) => watchPaymentLink(context, id),
    resolve: (link) => link,
  }),
);
