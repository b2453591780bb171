export { forbiddenRange } from "./address-rule.ts";
export {
  type AllowEntry,
  type AllowList,
  type AllowListFault,
  InvalidAllowListError,
  parseAllowList,
} from "./allow-list.ts";
export { describeFailure } from "./describe-failure.ts";
export type { OutboundAnswer, OutboundFailure } from "./exchange.ts";
export type { FailureCode, FailureReason } from "./failure-reason.ts";
export { createExtraCertificates, type ExtraCertificates } from "./extra-certificates.ts";
export { checkHeader, type HeaderVerdict } from "./header-rule.ts";
export { type ResolvedAddress, type ResolveName } from "./name-resolution.ts";
export { tlsReasonOf } from "./tls-failure.ts";
export { createOutbound, type Outbound, type OutboundOptions, type OutboundRequest } from "./outbound.ts";
export type { OwnFault, OwnFaultAlarm, OwnFaultReason } from "./own-fault.ts";
export { checkUrl, MAX_URL_CHARS, type UrlVerdict } from "./url-rule.ts";
