import { caseById } from "@collections/cases";
import { databaseTime } from "@collections/database";
import { type Lender, lenderById, SealedValueError, whatsappAccount } from "@collections/lenders";
import { type Mail, MailNotSentError, WhatsAppNotSentError } from "@collections/messaging";
import { money } from "@collections/money";
import {
  chooseLanguage,
  type DeliveryReport,
  type LanguagePreference,
  type LinkDelivery,
  linkEmail,
  type LinkMessage,
  type PaymentLink,
  suppressionOf,
  whatsappParameters,
} from "@collections/payment-links";
import { channelFacts } from "./channel-facts.ts";
import type { LinkDeps } from "./link-jobs.ts";
import { obsoleteReason } from "./obsolete-request.ts";

/** The result of sending a message, as it is recorded. */
export type SendReport = Pick<DeliveryReport, "status" | "providerMessageId" | "failureCode" | "failureDetail">;

/** The outcome of sending a message. If `isTemporary`, the message was not sent, and a later attempt may succeed. */
export interface SendOutcome {
  readonly report: SendReport;
  readonly isTemporary: boolean;
}

/**
 * A message that is older than this is not sent: the field partner has left, and the message would surprise the
 * borrower.
 */
const TOO_LATE_MS = 30 * 60_000;

/** The WhatsApp template for a lender that has not registered the name of a template. */
const DEFAULT_TEMPLATE = "payment_link";

/**
 * A function that sends a prepared message through its channel, and returns the channel's message id. It uses only the
 * network, not the database.
 */
export type ReadyMessage = () => Promise<string>;

/**
 * Reads everything that is needed to send a message, so that after the claim only the channel can fail. If the message
 * must not be sent now, returns the report to record instead.
 */
export async function prepareMessage(
  deps: LinkDeps,
  link: PaymentLink,
  { id, channel, createdAt }: LinkDelivery,
): Promise<ReadyMessage | SendReport> {
  const em = deps.database.em();
  const [now, aCase, aLender] = await Promise.all([
    databaseTime(em),
    caseById(em, link),
    lenderById(em, link.lenderId),
  ]);
  const [theCase, lender] = [aCase!, aLender!];
  if (now.getTime() - createdAt.getTime() > TOO_LATE_MS) return { status: "suppressed", failureCode: "TOO_LATE" };
  const suppression = suppressionOf(channelFacts(theCase, lender)[channel]);
  if (suppression) return { status: "suppressed", failureCode: suppression };
  const obsolete = obsoleteReason(link, { theCase, lender, now });
  if (obsolete) {
    return { status: "suppressed", failureCode: obsolete.reason.toUpperCase(), failureDetail: obsolete.detail };
  }
  const message: LinkMessage = {
    borrowerName: theCase.borrowerName,
    lenderName: lender.name,
    amount: money(link.amountMinor, link.currency),
    url: link.url!,
  };
  const preference = { tags: [theCase.language, lender.language], country: lender.country };
  if (channel === "email") {
    const mail = { to: theCase.borrowerEmail!, ...linkEmail(message, preference) };
    return emailTo(deps, mail, id);
  }
  return whatsappTo(deps, { lender, to: theCase.borrowerPhone, preference, callbackData: id }, message);
}

/** Sends a prepared message once. */
export async function sendMessage(message: ReadyMessage): Promise<SendOutcome> {
  try {
    return { report: { status: "sent", providerMessageId: await message() }, isTemporary: false };
  } catch (error) {
    if (!(error instanceof MailNotSentError || error instanceof WhatsAppNotSentError)) throw error;
    const { code, detail, retryable } = error;
    const status = code === "NOT_CONFIGURED" ? "suppressed" : "failed";
    return { report: { status, failureCode: code, failureDetail: detail }, isTemporary: retryable };
  }
}

/** The Message-ID is made from the delivery's id, so that a repeated e-mail is recognised as the same mail. */
function emailTo({ mailer }: LinkDeps, mail: Omit<Mail, "messageId">, deliveryId: string): ReadyMessage {
  return async () => (await mailer.send({ ...mail, messageId: `link-delivery:${deliveryId}` })).messageId;
}

interface WhatsappRecipient {
  readonly lender: Lender;
  readonly to: string;
  readonly preference: LanguagePreference;
  readonly callbackData: string;
}

async function whatsappTo(
  { database, vault, whatsapp }: LinkDeps,
  { lender, to, preference, callbackData }: WhatsappRecipient,
  message: LinkMessage,
): Promise<ReadyMessage | SendReport> {
  try {
    const registered = (await whatsappAccount(database.em(), vault, lender.id))!;
    const account = { phoneNumberId: registered.phoneNumberId, accessToken: registered.token };
    const { name = DEFAULT_TEMPLATE, languages = [] } = registered.template ?? {};
    // If the lender has registered no languages, the template is approved in the lender's language. Meta writes `en_IN`
    // instead of `en-IN`.
    const [first = lender.language.replaceAll("-", "_"), ...others] = languages;
    const { language, locale } = chooseLanguage([first, ...others], preference);
    const template = { name, language, bodyParameters: whatsappParameters(message, locale) };
    return async () => (await whatsapp.sendTemplate({ ...account, to, template, callbackData })).messageId;
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error;
    return { status: "failed", failureCode: error.code, failureDetail: error.message };
  }
}
