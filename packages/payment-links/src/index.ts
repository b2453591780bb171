export { changedLinks } from "./link/changed-links.ts";
export { claimDelivery, type DeliveryClaim, type DeliveryKey, releaseDelivery } from "./message/claim-delivery.ts";
export { claimMint } from "./mint/claim-mint.ts";
export {
  type LenderLinkKey,
  linksByLenderLinkId,
  markPaid,
  markReversed,
  type PaidLink,
} from "./link/confirmed-links.ts";
export { countLinks, type LinkCounts } from "./link/count-links.ts";
export { hasMintedLink } from "./link/has-minted-link.ts";
export {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  isNews,
  isUndelivered,
  LINK_NOT_LIVE,
  OUTCOME_UNKNOWN,
  type ReportedStatus,
} from "./link/delivery-status.ts";
export {
  type BankAccount,
  type Fallback,
  type FallbackDetails,
  fallbackFor,
  type FallbackPayment,
} from "./message/fallback.ts";
export {
  activeLinks,
  type CaseKey,
  deliveriesOf,
  deliveryById,
  linkById,
  linkOfFieldPartner,
  linksOfCase,
  type LinksWithMessages,
  linksOfFieldPartner,
  linksWithLinkId,
  liveLink,
  messagesOfDeliveries,
  messagesSent,
  ownActiveLinks,
  ownLinks,
  type SentMessage,
  stuckDeliveries,
  stuckRequested,
} from "./link/find-links.ts";
export {
  forgetHeldReports,
  forgetOldReports,
  heldReports,
  holdReports,
  type LenderMessage,
  type MessageReport,
  settleableReports,
} from "./message/held-report.ts";
export { eraseFailureDetails } from "./message/erase-details.ts";
export { type LinkDelivery } from "./link/link-delivery.ts";
export { type LinkUrlRule } from "./link/link-url.ts";
export { isLive, LINK_STATUSES, type LinkStatus, type LinkTrigger, nextLinkStatus } from "./link/link-status.ts";
export { chooseLanguage, type ChosenLanguage, type LanguagePreference } from "./message/choose-language.ts";
export { linkEmail, type LinkMessage, whatsappParameters } from "./message/messages.ts";
export { type MintAnswer, readMintAnswer } from "./mint/mint-answer.ts";
export { type MintCall, mintLink, type MintRequest } from "./mint/mint-link.ts";
export { type MintFaultCode } from "./mint/mint-remedy.ts";
export { ownMintFaults, type OwnMintFaults } from "./mint/own-mint-faults.ts";
export { type MintFault, testMint, type TestedMint } from "./mint/test-mint.ts";
export {
  type Channel,
  CHANNELS,
  type LinkKey,
  type LinksOfCase,
  lockLinksOfCase,
  type PaymentLink,
  PaymentLinkNotFoundError,
} from "./link/payment-link.ts";
export {
  type ChannelFacts,
  createDeliveries,
  type CreatedDeliveries,
  type DeliveryOptions,
  type DeliveryReport,
  recordDeliveries,
  recordDelivery,
  type RecordedDelivery,
  type SuppressionCode,
  suppressionOf,
} from "./message/record-delivery.ts";
export {
  type MintedLink,
  type RecordedMint,
  recordMinted,
  recordUnavailable,
  type UnavailableLink,
} from "./mint/record-mint.ts";
export {
  LINK_REQUEST_LIFETIME_MS,
  type LinkRequest,
  MAX_LINKS_PER_CASE,
  requestLink,
  TooManyLinksError,
} from "./link/request-link.ts";
export { MAX_MESSAGES_PER_CHANNEL, resendLink, type ResendOptions, type ResendOutcome } from "./message/resend-link.ts";
export { UNAVAILABLE_REASONS, type UnavailableReason } from "./link/unavailable-reason.ts";
