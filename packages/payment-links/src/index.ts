export { changedLinks } from "./changed-links.ts";
export { claimDelivery, type DeliveryClaim, type DeliveryKey, releaseDelivery } from "./claim-delivery.ts";
export { claimMint } from "./claim-mint.ts";
export { type LenderLinkKey, linksByLenderLinkId, markPaid, type PaidLink } from "./confirmed-links.ts";
export {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  isNews,
  isUndelivered,
  LINK_NOT_LIVE,
  OUTCOME_UNKNOWN,
  type StatusTold,
} from "./delivery-status.ts";
export {
  type BankAccount,
  type Fallback,
  type FallbackDetails,
  fallbackFor,
  type FallbackPayment,
} from "./fallback.ts";
export {
  activeLinks,
  type CaseKey,
  deliveriesOf,
  deliveryById,
  deliveryByMessageId,
  linkById,
  linkOfFieldPartner,
  linksOfFieldPartner,
  liveLink,
  type MessageSent,
  messagesOfDeliveries,
  messagesSent,
  ownActiveLinks,
  ownLinks,
  stuckDeliveries,
  stuckRequested,
} from "./find-links.ts";
export {
  forgetHeldReports,
  forgetOldReports,
  heldReports,
  holdReports,
  type LenderMessage,
  type MessageReport,
  settleableReports,
} from "./held-report.ts";
export { type LinkDelivery } from "./link-delivery.ts";
export { type LinkUrlRule } from "./link-url.ts";
export { isLive, LINK_STATUSES, type LinkStatus, type LinkTrigger, nextLinkStatus } from "./link-status.ts";
export { linkEmail, type LinkMessage, whatsappParameters } from "./messages.ts";
export { type MintAnswer, readMintAnswer } from "./mint-answer.ts";
export { type MintCall, mintLink, type MintRequest } from "./mint-link.ts";
export {
  type Channel,
  CHANNELS,
  type LinkKey,
  type LinksOfCase,
  lockLinksOfCase,
  type PaymentLink,
  PaymentLinkNotFoundError,
} from "./payment-link.ts";
export {
  type ChannelFacts,
  createDeliveries,
  type DeliveriesMade,
  type DeliveriesWanted,
  type DeliveryRecorded,
  type DeliveryReport,
  recordDeliveries,
  recordDelivery,
  type SuppressionCode,
  suppressionOf,
} from "./record-delivery.ts";
export { type MintedLink, type MintRecorded, recordMinted, recordUnavailable } from "./record-mint.ts";
export { type LinkRequest, MAX_LINKS_PER_CASE, requestLink, TooManyLinksError, WISH_LASTS_MS } from "./request-link.ts";
export { type LinkResent, MAX_MESSAGES_PER_CHANNEL, type Resending, resendLink } from "./resend-link.ts";
export { UNAVAILABLE_REASONS, type UnavailableReason } from "./unavailable-reason.ts";
