import type { Tx } from "@collections/database";
import {
  holdLinkWish,
  type PaymentLinkWish,
  requestPaymentLinkIn,
  type RequestPaymentLinkOutcome,
} from "@collections/flows";
import { display, money } from "@collections/money";
import { MAX_LINKS_PER_CASE } from "@collections/payment-links";
import { notWorkable } from "./blocked-words.ts";
import { builder } from "./builder.ts";
import { badInput } from "./client-error.ts";
import { viewer } from "./context.ts";
import { MoneyInput, moneyOf } from "./money.ts";
import { type Kept, once } from "./once.ts";
import { ChannelRef, PaymentLinkRef } from "./payment-link.ts";
import {
  AmountNotAllowedError,
  CaseNotWorkableError,
  IdempotencyConflictError,
  type Refusal,
  VisitNotFoundError,
  visitNotFound,
} from "./user-error.ts";

/** A link that was requested, as it is kept for repeats. */
interface Requested {
  readonly linkId: string;
}

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
      const wish: PaymentLinkWish = {
        fieldPartnerId: viewer(context).id,
        visitId,
        amountMinor: minor,
        currency,
        ...(channels && { channels }),
        ...(occurredAt && { occurredAt }),
      };
      return once(context, "requestPaymentLink", input, (tx) => request(tx, input.idempotencyKey, wish));
    },
  }),
);

async function request(tx: Tx, key: string, wish: PaymentLinkWish): Promise<Kept<Requested>> {
  const outcome = await requestPaymentLinkIn(tx, wish, {});
  if (outcome.kind === "visit_not_found") return { refusal: visitNotFound(await holdLinkWish(tx, key, wish)) };
  return requested(outcome);
}

/** What is kept of the outcome for repeats. Throws BAD_INPUT. */
export function requested(outcome: RequestPaymentLinkOutcome): Kept<Requested> {
  switch (outcome.kind) {
    case "requested":
      return { done: { linkId: outcome.link.id } };
    case "visit_not_found":
      return { refusal: visitNotFound(false) };
    case "invalid":
      throw badInput(outcome.detail);
    case "case_not_workable":
      return { refusal: notWorkable(outcome.code) };
    case "too_many_links":
      return { refusal: { code: "CASE_NOT_WORKABLE", message: TOO_MANY_LINKS } };
    case "amount_not_allowed":
      return { refusal: amountNotAllowed(outcome) };
  }
}

const TOO_MANY_LINKS =
  `The case has had ${MAX_LINKS_PER_CASE} links within 24 hours: ` +
  "show the newest one, send that again, or use the lender's QR code.";

function amountNotAllowed({ minimumMinor, maximumMinor, currency }: Bounds): Refusal {
  const [least, most] = [minimumMinor, maximumMinor].map((minor) => display(money(minor, currency)));
  return {
    code: "AMOUNT_NOT_ALLOWED",
    message: `Ask for ${least} to ${most}.`,
    bounds: { minimumMinor: minimumMinor.toString(), maximumMinor: maximumMinor.toString(), currency },
  };
}

type Bounds = Extract<RequestPaymentLinkOutcome, { kind: "amount_not_allowed" }>;
