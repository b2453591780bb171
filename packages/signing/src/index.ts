export { type DescribedRequest, requestDescribed } from "./diagnosis/described-request.ts";
export { diagnose, type Diagnosis, type Finding, type RequestToDiagnose } from "./diagnosis/diagnose.ts";
export { remedyFor, type SignatureCause, SIGNATURE_CAUSES } from "./diagnosis/diagnose-cause.ts";
export { MAX_BYTES_READ, MAX_SIGNATURES_TRIED } from "./diagnosis/diagnose-search.ts";
export { type SecretsToTry } from "./diagnosis/diagnose-secret.ts";
export { HEADERS } from "./headers.ts";
export {
  type ReceivedWebhook,
  type VerifiedWebhook,
  verifyWebhook,
  type WebhookFault,
  WebhookNotVerifiedError,
  type WebhookVerification,
} from "./received-webhook.ts";
export { readRequestTarget, type RequestTarget } from "./request-target.ts";
export {
  beginVerification,
  canonicalSha256,
  canonicalString,
  sha256Hex,
  sign,
  signingKey,
  verify,
  type RequestToSign,
  type RequestToVerify,
  type Secret,
  type SignedRequest,
  type Verification,
} from "./signature.ts";
export { EmptySecretError, type SigningKey } from "./signing-key.ts";
export { checkTimestamp, TIMESTAMP_TOLERANCE_MS, type TimestampVerdict } from "./timestamp.ts";
