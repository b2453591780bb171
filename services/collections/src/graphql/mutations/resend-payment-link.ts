import type { Tx } from "@collections/entities";
import { type PaymentLinkResend, resendPaymentLink } from "@collections/flows";
import { type Channel, MAX_MESSAGES_PER_CHANNEL } from "@collections/payment-links";
import { notWorkable } from "../../mutation-results/blocked-words.ts";
import type { Kept } from "../../mutation-results/refusal.ts";
import { builder } from "../plumbing/builder.ts";
import { badInput } from "../plumbing/client-error.ts";
import { viewer } from "../plumbing/context.ts";
import { once } from "../plumbing/once.ts";
import { ChannelRef, PaymentLinkRef } from "../types/payment-link.ts";
import {
  CaseNotWorkableError,
  IdempotencyConflictError,
  PaymentLinkNotFoundError,
  PaymentLinkNotLiveError,
  ResendLimitReachedError,
} from "../plumbing/user-error.ts";

/** The stored result of a link that was sent again. */
interface Resent {
  readonly linkId: string;
}

const ResendPaymentLinkInput = builder.inputType("ResendPaymentLinkInput", {
  description: "A link to send to the borrower again.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new request. A repeat of the request has the same UUID.",
    }),
    paymentLinkId: t.globalID({ required: true, for: PaymentLinkRef, description: "The `id` of the payment link." }),
    channels: t.field({
      type: [ChannelRef],
      description:
        "The channels over which the link is sent, at least one; by default the channels of the earlier messages.",
    }),
  }),
});

const ResendPaymentLinkPayload = builder.objectRef<Resent>("ResendPaymentLinkPayload").implement({
  description: "A link that is being sent to the borrower again.",
  fields: (t) => ({
    paymentLink: t.field({
      type: PaymentLinkRef,
      description: "The link, with one more item in its `deliveries` for each channel.",
      async resolve({ linkId }, _, { reads }) {
        const link = await reads.ownLink.load(linkId);
        if (!link) throw new Error("The payment link was not found, although links are never deleted.");
        return link;
      },
    }),
  }),
});

builder.mutationField("resendPaymentLink", (t) =>
  t.field({
    type: ResendPaymentLinkPayload,
    nullable: true,
    description: `Resends a link whose status is MINTED or SENT. A link is sent at most ${MAX_MESSAGES_PER_CHANNEL} times over each channel.`,
    args: {
      input: t.arg({
        type: ResendPaymentLinkInput,
        required: true,
        description: "The link, and the channels over which it is sent.",
      }),
    },
    errors: {
      types: [
        PaymentLinkNotFoundError,
        PaymentLinkNotLiveError,
        ResendLimitReachedError,
        CaseNotWorkableError,
        IdempotencyConflictError,
      ],
      union: { description: "The link that is being sent again, or the reason why it is not sent." },
    },
    resolve(_, { input }, context) {
      const { paymentLinkId, channels } = input;
      if (channels?.length === 0) throw badInput("Name at least one channel, or leave `channels` out.");
      const resend: PaymentLinkResend = {
        fieldPartnerId: viewer(context).id,
        linkId: paymentLinkId.id,
        ...(channels && { channels }),
      };
      return once(context, "resendPaymentLink", input, (tx) => sendAgain(tx, resend));
    },
  }),
);

const CHANNEL_WORDS: Record<Channel, string> = { whatsapp: "by WhatsApp", email: "by e-mail" };

async function sendAgain(tx: Tx, resend: PaymentLinkResend): Promise<Kept<Resent>> {
  const outcome = await resendPaymentLink(tx, resend, {});
  switch (outcome.kind) {
    case "resent":
      return { done: { linkId: resend.linkId } };
    case "link_not_found":
      return { refusal: { code: "PAYMENT_LINK_NOT_FOUND", message: "You have no payment link with this id." } };
    case "case_not_workable":
      return { refusal: notWorkable(outcome.code) };
    case "not_live":
      return {
        refusal: {
          code: "PAYMENT_LINK_NOT_LIVE",
          message: `The link is ${outcome.status}: it can no longer be paid.`,
        },
      };
    case "used_up": {
      const message = `The link was already sent ${MAX_MESSAGES_PER_CHANNEL} times ${CHANNEL_WORDS[outcome.channel]}: show it.`;
      return { refusal: { code: "RESEND_LIMIT_REACHED", message } };
    }
  }
}
