import { caseById } from "@collections/cases";
import { lenderById, SealedValueError, whatsappAccount } from "@collections/lenders";
import { MailNotSentError, WhatsAppNotSentError } from "@collections/messaging";
import { money } from "@collections/money";
import {
  type DeliveryReport,
  isLive,
  type LinkDelivery,
  linkEmail,
  type LinkMessage,
  type PaymentLink,
  suppressionOf,
  whatsappParameters,
} from "@collections/payment-links";
import { channelFacts } from "./channel-facts.ts";
import type { LinkDeps } from "./link-jobs.ts";

/** What a channel made of a message. */
export type SendReport = Pick<DeliveryReport, "status" | "providerMessageId" | "failureCode" | "failureDetail">;

/** `mayPass`: the message has not gone out, and a later try may succeed. */
export interface SendOutcome {
  readonly report: SendReport;
  readonly mayPass: boolean;
}

/** Sends one message that carries a link, if as things stand the borrower may still get it. Network, no transaction. */
export async function sendMessage(deps: LinkDeps, link: PaymentLink, delivery: LinkDelivery): Promise<SendOutcome> {
  if (!isLive(link)) return final({ status: "suppressed", failureCode: "LINK_NOT_LIVE" });
  const suppression = suppressionOf((await channelFacts(deps.database.em(), link))[delivery.channel]);
  if (suppression) return final({ status: "suppressed", failureCode: suppression });
  try {
    const providerMessageId = await SENDERS[delivery.channel](deps, link, delivery);
    return final({ status: "sent", providerMessageId });
  } catch (error) {
    return outcomeOf(error);
  }
}

/** By channel: sends and answers with the channel's id of the message. */
const SENDERS = { email: sendEmail, whatsapp: sendWhatsapp };

/** The delivery's id is the Message-ID: sent again, it is the same mail to whoever gets it. */
async function sendEmail(deps: LinkDeps, link: PaymentLink, delivery: LinkDelivery): Promise<string> {
  const { message, theCase } = await messageOf(deps, link);
  const { messageId } = await deps.mailer.send({
    to: theCase.borrowerEmail!,
    ...linkEmail(message),
    messageId: `link-delivery:${delivery.id}`,
  });
  return messageId;
}

async function sendWhatsapp(deps: LinkDeps, link: PaymentLink): Promise<string> {
  const { message, theCase, lender } = await messageOf(deps, link);
  const { phoneNumberId, token, template } = (await whatsappAccount(deps.database.em(), deps.vault, lender.id))!;
  const { messageId } = await deps.whatsapp.sendTemplate({
    phoneNumberId,
    accessToken: token,
    to: theCase.borrowerPhone,
    template: {
      name: template!,
      // A template is approved in the lender's language. Meta writes `en_IN` for `en-IN`.
      language: lender.language.replaceAll("-", "_"),
      bodyParameters: whatsappParameters(message),
    },
  });
  return messageId;
}

async function messageOf({ database }: LinkDeps, { lenderId, caseId, amountMinor, currency, url }: PaymentLink) {
  const theCase = (await caseById(database.em(), { lenderId, caseId }))!;
  const lender = (await lenderById(database.em(), lenderId))!;
  const message: LinkMessage = {
    borrowerName: theCase.borrowerName,
    lenderName: lender.name,
    amount: money(amountMinor, currency),
    url: url!,
    locale: theCase.language ?? lender.language,
  };
  return { message, theCase, lender };
}

function outcomeOf(error: unknown): SendOutcome {
  if (error instanceof SealedValueError) {
    return final({ status: "failed", failureCode: error.code, failureDetail: error.message });
  }
  if (!(error instanceof MailNotSentError || error instanceof WhatsAppNotSentError)) throw error;
  const { code, detail, retryable } = error;
  const status = code === "NOT_CONFIGURED" ? "suppressed" : "failed";
  return { report: { status, failureCode: code, failureDetail: detail }, mayPass: retryable };
}

function final(report: SendReport): SendOutcome {
  return { report, mayPass: false };
}
