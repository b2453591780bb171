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
  description: "The status of a payment link.",
  values: {
    REQUESTED: { value: "requested", description: "The link is being requested from the lender." },
    MINTED: { value: "minted", description: "The lender has created the link: show it to the borrower." },
    SENT: { value: "sent", description: "A channel has accepted a message to the borrower that contains the link." },
    UNAVAILABLE: { value: "unavailable", description: "There is no link: use the fallback." },
    SUPERSEDED: { value: "superseded", description: "A newer link of the case has replaced the link." },
    PAID: { value: "paid", description: "The lender has confirmed a payment with the link." },
  } satisfies Record<string, { value: LinkStatus; description: string }>,
});

export const ChannelRef = builder.enumType("Channel", {
  description: "A channel over which a link is sent to the borrower.",
  values: {
    WHATSAPP: { value: "whatsapp", description: "A WhatsApp message from the lender's own account." },
    EMAIL: { value: "email", description: "An e-mail to the borrower." },
  } satisfies Record<string, { value: Channel; description: string }>,
});

const DeliveryStatusRef = builder.enumType("LinkDeliveryStatus", {
  description: "The status of a message.",
  values: {
    QUEUED: { value: "queued", description: "The message will be sent soon." },
    SENT: { value: "sent", description: "The channel has accepted the message." },
    DELIVERED: { value: "delivered", description: "The message has reached the borrower." },
    READ: { value: "read", description: "The borrower has read the message." },
    FAILED: { value: "failed", description: "The channel could not deliver the message." },
    SUPPRESSED: {
      value: "suppressed",
      description: "The message was not sent, because there is no consent or no address.",
    },
  } satisfies Record<string, { value: DeliveryStatus; description: string }>,
});

const DeliveryRef = builder.objectRef<LinkDelivery>("LinkDelivery").implement({
  description: "One message to the borrower that contains a link.",
  fields: (t) => ({
    channel: t.expose("channel", { type: ChannelRef, description: "The channel of the message." }),
    status: t.expose("status", { type: DeliveryStatusRef, description: "The status of the message." }),
    failureCode: t.exposeString("failureCode", {
      nullable: true,
      description: "The reason why the message failed or was suppressed, such as CONSENT_REFUSED.",
    }),
    updatedAt: t.expose("updatedAt", { type: "DateTime", description: "When the message got this status." }),
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
  outcome_unknown: "It is not known whether the lender has created a link.",
  not_configured: "The lender does not give payment links yet.",
  case_not_workable: "The case is no longer workable: do not ask for a payment.",
  amount_not_allowed: "The outstanding amount is now below the amount that you requested.",
  asked_too_long_ago: "The link request is too old. Request a new link if you are still with the borrower.",
};

const UnavailableReasonRef = builder.enumType("UnavailableReasonCode", {
  description: "A reason why there is no link. Later versions may have more values.",
  values: Object.fromEntries(
    Object.entries(UNAVAILABLE_WORDS).map(([value, description]) => [value.toUpperCase(), { value, description }]),
  ) as Record<Uppercase<UnavailableReason>, { value: UnavailableReason; description: string }>,
});

export const PaymentLinkRef = builder.objectRef<PaymentLink>("PaymentLink");

builder.node(PaymentLinkRef, {
  description: "A link with which the borrower pays the lender. A field partner requests it during a visit.",
  id: { resolve: ({ id }) => id, description: "An opaque id that never changes." },
  loadWithoutCache: (id, { reads }) => reads.ownLink.load(id),
  fields: (t) => ({
    amount: t.field({
      type: MoneyRef,
      description: "The amount that the borrower is asked to pay.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
    status: t.expose("status", { type: StatusRef, description: "The status of the link." }),
    url: t.field({
      type: "URL",
      nullable: true,
      description:
        "The URL where the borrower pays. Null unless the link is MINTED or SENT, and null if you may no longer " +
        "see the case.",
      resolve: async (link, _, context) => (isLive(link) && (await showsCase(link, context)) ? link.url : null),
    }),
    deliveries: t.field({
      type: [DeliveryRef],
      description: "The messages to the borrower that contain the link; empty if you may no longer see the case.",
      resolve: async (link, _, context) =>
        (await showsCase(link, context)) ? [...(await context.reads.deliveries.load(link))] : [],
    }),
    fallback: t.field({
      type: FallbackRef,
      nullable: true,
      description:
        "The lender's details for a payment without the link, for the same amount if it is still owed. Null " +
        "unless the link is unavailable, and null if you may no longer see the case.",
      async resolve(link, _, context) {
        if (link.status !== "unavailable" || !(await showsCase(link, context))) return null;
        const { lenderId, amountMinor, currency, sourceLoanNumber: note, unavailableReason } = link;
        const payment = { currency, note, ...(unavailableReason !== "amount_not_allowed" && { amountMinor }) };
        return fallbackOf(await context.reads.lender.load(lenderId), payment);
      },
    }),
    unavailableReason: t.string({
      nullable: true,
      description: "The reason why there is no link, in words; null unless the link is unavailable.",
      resolve: ({ status, unavailableReason }) =>
        status === "unavailable" && unavailableReason ? UNAVAILABLE_WORDS[unavailableReason] : null,
    }),
    unavailableReasonCode: t.field({
      type: UnavailableReasonRef,
      nullable: true,
      description:
        "The reason why there is no link, for an app with its own texts; null unless the link is unavailable.",
      resolve: ({ status, unavailableReason }) => (status === "unavailable" ? unavailableReason : null),
    }),
    paidAt: t.expose("paidAt", {
      type: "DateTime",
      nullable: true,
      description: "When the link was paid; null before that.",
    }),
    reversedAt: t.expose("reversedAt", {
      type: "DateTime",
      nullable: true,
      description:
        "When the payment of the link was last reversed, wholly or in part; null before that. The status stays PAID. " +
        "`reversals` of the case has the amounts.",
    }),
    createdAt: t.expose("createdAt", {
      type: "DateTime",
      description:
        "When the link was requested. If the request arrived before the start of its visit, this is when the " +
        "start arrived.",
    }),
    cameOutOfOrder: t.exposeBoolean("cameOutOfOrder", {
      description: "Whether the link request reached the service before the start of its visit.",
    }),
  }),
});

/**
 * Whether a payment link may show its case. False for a case that was reassigned, or that ended more than 7 days ago.
 */
async function showsCase({ caseId }: PaymentLink, { reads }: Context): Promise<boolean> {
  return (await reads.ownCase.load(caseId))?.isShrunk === false;
}

builder.queryField("paymentLink", (t) =>
  t.field({
    type: PaymentLinkRef,
    nullable: true,
    description: "One of your payment links; null if the link is not yours.",
    args: { id: t.arg.globalID({ required: true, for: PaymentLinkRef, description: "The `id` of the payment link." }) },
    resolve: (_, { id: { id } }, { reads }) => reads.ownLink.load(id),
  }),
);

builder.subscriptionField("paymentLinkUpdated", (t) =>
  t.field({
    type: PaymentLinkRef,
    description:
      "Sends the link at once, and again after each change. The stream ends when the link is PAID, UNAVAILABLE " +
      "or SUPERSEDED. If the stream ends earlier, or the connection breaks, subscribe again.",
    args: { id: t.arg.globalID({ required: true, for: PaymentLinkRef, description: "The `id` of the payment link." }) },
    subscribe: (_, { id: { id } }, context) => watchPaymentLink(context, id),
    resolve: (link) => link,
  }),
);
