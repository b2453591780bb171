export { HEADERS } from "./headers.ts";
export {
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
} from "./signature.ts";
export { EmptySecretError, type SigningKey } from "./signing-key.ts";
export { checkTimestamp, TIMESTAMP_TOLERANCE_MS, type TimestampVerdict } from "./timestamp.ts";
