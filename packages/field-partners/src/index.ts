export { issueAccessToken, OPERATOR_TOKEN_TTL_MS } from "./access-token.ts";
export {
  actsOnFieldPartner,
  actsOnFieldPartners,
  type FieldPartnerAuditEntry,
  type FieldPartnerAuditFilter,
  type ListedFieldPartnerAct,
} from "./audit.ts";
export {
  type ContactReveal,
  contactRevealsOf,
  recordContactReveal,
  type RecordedReveal,
  type RevealsWithPeople,
} from "./contact-reveal.ts";
export {
  FieldPartnerNotFoundError,
  InvalidFieldPartnerError,
  type FieldPartnerFaultCode,
} from "./field-partner-fault.ts";
export {
  createFieldPartner,
  ensureFieldPartner,
  type FieldPartner,
  fieldPartnerById,
  type FieldPartnerChanges,
  fieldPartnersByIds,
  type FieldPartnerSearch,
  listFieldPartners,
  lockFieldPartnerState,
  type NewFieldPartner,
  resumeFieldPartner,
  searchFieldPartners,
  suspendFieldPartner,
  updateFieldPartner,
} from "./field-partner.ts";
export { deleteExpired } from "./delete-expired.ts";
export {
  claimMutation,
  MUTATION_RESULT_TTL_MS,
  type MutationClaim,
  type MutationKey,
  replaceMutationResult,
  saveMutationResult,
} from "./mutation-result.ts";
export {
  isOtpOfKnownDevice,
  knownDeviceOf,
  type OtpRequest,
  type OtpRequestOutcome,
  type OtpSending,
  otpToSend,
  type OtpToSend,
  type OtpVerification,
  recordOtpSending,
  requestOtp,
  verifyOtp,
} from "./otp.ts";
export { OTP_SEND_RETRIES, type OtpJob, otpQueue } from "./otp-queue.ts";
export { clearOtpLimit } from "./otp-limit.ts";
export { type RefreshOutcome, refreshSession, sessionOfRefreshToken } from "./refresh-session.ts";
export { type FieldPartnerState, type SessionEnd } from "./schema.ts";
export {
  endSession,
  openSessionsOf,
  type Session,
  signedInByTokens,
  type SignedIn,
  validAccessTokens,
} from "./session.ts";
export { createSignInKeys, type SignInKeys } from "./sign-in-keys.ts";
export { ACCESS_TOKEN_TTL_MS, REFRESH_TOKEN_TTL_MS, type Tokens } from "./token-pair.ts";
