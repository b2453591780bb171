import { caseById } from "@collections/cases";
import { databaseTime } from "@collections/database";
import { lenderById, SealedValueError, whatsappAccount } from "@collections/lenders";
import { MailNotSentError, WhatsAppNotSentError } from "@collections/messaging";
import { money } from "@collections/money";
import {
  type DeliveryReport,
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

/** What a channel made of a message. */
export type SendReport = Pick<DeliveryReport, "status" | "providerMessageId" | "failureCode" | "failureDetail">;

/** `mayPass`: the message has not gone out, and a later try may succeed. */
export interface SendOutcome {
  readonly report: SendReport;
  readonly mayPass: boolean;
}

/** A message that is due for so long would surprise its borrower: the field partner has left. */
const TOO_LATE_MS = 30 * 60_000;

/** The name under which a lender has the template approved that it does not name itself. */
const DEFAULT_TEMPLATE = "payment_link";

/** Gives a message to its channel, which answers with its id of the message. Network only. */
export type ReadyMessage = () => Promise<string>;

/**
 * Reads all that a message needs, so that from its claim on nothing but the channel can fail; or says why, as things
 * stand, it is not to be sent.
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
  const passed = obsoleteReason(link, { theCase, lender, now });
  if (passed) {
    return { status: "suppressed", failureCode: passed.reason.toUpperCase(), failureDetail: passed.detail };
  }
  const message: LinkMessage = {
    borrowerName: theCase.borrowerName,
    lenderName: lender.name,
    amount: money(link.amountMinor, link.currency),
    url: link.url!,
    locale: theCase.language ?? lender.language,
  };
  if (channel === "email") return emailTo(deps, theCase.borrowerEmail!, message, id);
  // A template is approved in the lender's language. Meta writes `en_IN` for `en-IN`.
  const language = lender.language.replaceAll("-", "_");
  return whatsappTo(deps, { lenderId: lender.id, to: theCase.borrowerPhone, language, callbackData: id }, message);
}

/** Sends a prepared message once. */
export async function sendMessage(message: ReadyMessage): Promise<SendOutcome> {
  try {
    return { report: { status: "sent", providerMessageId: await message() }, mayPass: false };
  } catch (error) {
    if (!(error instanceof MailNotSentError || error instanceof WhatsAppNotSentError)) throw error;
    const { code, detail, retryable } = error;
    const status = code === "NOT_CONFIGURED" ? "suppressed" : "failed";
    return { report: { status, failureCode: code, failureDetail: detail }, mayPass: retryable };
  }
}

/** The delivery's id is the Message-ID: sent again, it is the same mail to whoever gets it. */
function emailTo({ mailer }: LinkDeps, to: string, message: LinkMessage, deliveryId: string): ReadyMessage {
  const mail = { to, ...linkEmail(message), messageId: `link-delivery:${deliveryId}` };
  return async () => (await mailer.send(mail)).messageId;
}

async function whatsappTo(
  { database, vault, whatsapp }: LinkDeps,
  { lenderId, to, language, callbackData }: { lenderId: string; to: string; language: string; callbackData: string },
  message: LinkMessage,
): Promise<ReadyMessage | SendReport> {
  try {
    const registered = (await whatsappAccount(database.em(), vault, lenderId))!;
    const account = { phoneNumberId: registered.phoneNumberId, accessToken: registered.token };
    const template = {
      name: registered.template ?? DEFAULT_TEMPLATE,
      language,
      bodyParameters: whatsappParameters(message),
    };
    return async () => (await whatsapp.sendTemplate({ ...account, to, template, callbackData })).messageId;
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error;
    return { status: "failed", failureCode: error.code, failureDetail: error.message };
  }
}
