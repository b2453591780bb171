export { startLenderTwin, LenderTwin, type LenderTwinOptions, type PayOptions } from "./twin.ts";
export {
  LenderClient,
  NotConnectedError,
  type Answer,
  type CallOverrides,
  type Confirmation,
  type Connection,
  type PaymentReversal,
} from "./client.ts";
export { sign, type SignedParts } from "./signer.ts";
export {
  confirmUntilAnswered,
  isBooked,
  isReversed,
  reverseUntilAnswered,
  NoFinalAnswerError,
  type Patience,
} from "./until-answered.ts";
export {
  reconcileDay,
  ReconciliationFailedError,
  type DayDifference,
  type DayRun,
  type DayWindow,
  type OwnPayment,
  type ReconciledDay,
} from "./reconcile-day.ts";
export type { ApprovedTemplates } from "./approved-templates.ts";
export type { MintAuth, MintBehaviour, MintedLink, MintRecord, MintRequest } from "./mint-endpoint.ts";
export { NothingToPayError, UnknownLinkError, type Capture } from "./pay-desk.ts";
export type { Gap, ReceivedDelivery, ReceivedEvent, ReceiverBehaviour, RejectedDelivery } from "./receiver.ts";
export type { LoanView, WebhookEvent } from "./loan-view.ts";
export type { Misbehaviour } from "./misbehaviour.ts";
export { NotSeenError } from "./waiting.ts";
export {
  startFakeWhatsApp,
  FakeWhatsApp,
  type FakeWhatsAppOptions,
  type WhatsAppBehaviour,
  type WhatsAppCallback,
  type WhatsAppMessageStatus,
  type WhatsAppMessage,
  type WhatsAppRefusal,
} from "./fake-whatsapp.ts";
export { startMailCatcher, MailCatcher, type CaughtMail, type MailBehaviour } from "./mail-catcher.ts";
