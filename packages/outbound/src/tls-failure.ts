import type { FailureReason } from "./failure-reason.ts";

/** The error of a handshake that failed, of a certificate that was rejected, or of an alert that the server sent. */
export class TlsError extends Error {
  readonly code = "TLS_FAILED";
  readonly reason: FailureReason;
  /** The code of Node or OpenSSL, such as CERT_HAS_EXPIRED. */
  readonly systemCode: string;
  /** OpenSSL's description of the error, such as `EE certificate key too weak`. */
  readonly words: string | undefined;

  /** `asksForCertificate`: the server has sent a CertificateRequest in the handshake. */
  constructor(cause: Error, { asksForCertificate }: { asksForCertificate: boolean }) {
    super("TLS failed", { cause });
    this.name = "TlsError";
    this.words = wordsOf(cause);
    this.systemCode = systemCodeOf(cause, this.words);
    const reason = tlsReasonOf(this.systemCode) ?? (isRejection(cause) ? "CERTIFICATE_REJECTED" : "TLS_FAILED");
    // The server may close the connection or send an alert that does not name the certificate, such as
    // handshake_failure in TLS 1.2.
    this.reason = asksForCertificate && !isRejection(cause) ? "CLIENT_CERTIFICATE_REQUIRED" : reason;
  }
}

/** Returns whether TLS has thrown the error, by the form of the error. */
export function isTlsError(error: Error): boolean {
  if (error instanceof TlsError || "library" in error || isRejection(error)) return true;
  return /^(EPROTO$|ERR_SSL_|ERR_TLS_|ERR_OSSL_)/.test(codeOf(error));
}

/**
 * Returns the reason that belongs to a code of Node or OpenSSL, or undefined if the code does not show the reason.
 *
 * @example
 * tlsReasonOf("CERT_HAS_EXPIRED"); // "CERTIFICATE_EXPIRED"
 * tlsReasonOf("ERR_SSL_UNEXPECTED_MESSAGE"); // undefined
 */
export function tlsReasonOf(systemCode: string): FailureReason | undefined {
  return REASONS.get(systemCode) ?? (isRejectionCode(systemCode) ? "CERTIFICATE_REJECTED" : undefined);
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/**
 * Returns OpenSSL's own words. Node appends advice for the operator of a client after a semicolon. Errors that Node
 * itself throws have none: their messages contain names and addresses.
 */
function wordsOf(error: Error): string | undefined {
  if ("library" in error)
    return "reason" in error && typeof error.reason === "string" ? clean(error.reason) : undefined;
  return isRejection(error) && !codeOf(error).startsWith("ERR_") ? clean(error.message.split(";", 1)[0]!) : undefined;
}

/** Parentheses would end the part of a sentence in which `describeFailure` puts the words. */
function clean(words: string): string | undefined {
  const text = words
    .replaceAll(/[^ -~]/g, "")
    .replaceAll(/[()]/g, "")
    .slice(0, 120)
    .trim();
  return text === "" ? undefined : text;
}

/** Node has a code for 28 errors of the verification. It gives all others the code UNSPECIFIED, and OpenSSL's words. */
function systemCodeOf(error: Error, words: string | undefined): string {
  const code = codeOf(error);
  if (code === "") return "TLS";
  return code === "UNSPECIFIED" && words !== undefined ? (CODES_BY_WORDS.get(words) ?? code) : code;
}

/** Returns whether this process has rejected the server's certificate. */
function isRejection(error: Error): boolean {
  return !("library" in error) && !("syscall" in error) && isRejectionCode(codeOf(error));
}

function isRejectionCode(code: string): boolean {
  return REJECTIONS.has(code) || code.startsWith("ERR_TLS_CERT_");
}

/**
 * OpenSSL's errors of a certificate's verification (`X509_V_ERR_…`): Node's code, OpenSSL's words if Node has no code,
 * and the reason.
 */
const VERIFICATION_ERRORS: readonly (readonly [code: string, reason: FailureReason, words?: string])[] = [
  ["UNSPECIFIED", "CERTIFICATE_REJECTED"],
  ["CERT_HAS_EXPIRED", "CERTIFICATE_EXPIRED"],
  ["CERT_NOT_YET_VALID", "CERTIFICATE_NOT_YET_VALID"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "CERTIFICATE_SELF_SIGNED"],
  ["HOSTNAME_MISMATCH", "CERTIFICATE_FOR_OTHER_HOST"],
  ["IP_ADDRESS_MISMATCH", "CERTIFICATE_FOR_OTHER_HOST", "IP address mismatch"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "CERTIFICATE_NOT_TRUSTED"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERTIFICATE_NOT_TRUSTED"],
  ["CERT_UNTRUSTED", "CERTIFICATE_NOT_TRUSTED"],
  ["CERT_REJECTED", "CERTIFICATE_NOT_TRUSTED"],
  ["UNABLE_TO_GET_ISSUER_CERT", "CERTIFICATE_CHAIN_INCOMPLETE"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERTIFICATE_CHAIN_INCOMPLETE"],
  ["EE_KEY_TOO_SMALL", "CERTIFICATE_KEY_TOO_WEAK", "EE certificate key too weak"],
  ["CA_KEY_TOO_SMALL", "CERTIFICATE_KEY_TOO_WEAK", "CA certificate key too weak"],
  ["CA_MD_TOO_WEAK", "CERTIFICATE_SIGNATURE_TOO_WEAK", "CA signature digest algorithm too weak"],
  ["PERMITTED_VIOLATION", "CERTIFICATE_NAME_NOT_PERMITTED", "permitted subtree violation"],
  ["EXCLUDED_VIOLATION", "CERTIFICATE_NAME_NOT_PERMITTED", "excluded subtree violation"],
  ["SUBTREE_MINMAX", "CERTIFICATE_NAME_NOT_PERMITTED", "name constraints minimum and maximum not supported"],
  ["UNSUPPORTED_CONSTRAINT_TYPE", "CERTIFICATE_NAME_NOT_PERMITTED", "unsupported name constraint type"],
  ["UNSUPPORTED_CONSTRAINT_SYNTAX", "CERTIFICATE_NAME_NOT_PERMITTED", "unsupported or invalid name constraint syntax"],
  ["UNSUPPORTED_NAME_SYNTAX", "CERTIFICATE_NAME_NOT_PERMITTED", "unsupported or invalid name syntax"],
  ["INVALID_PURPOSE", "CERTIFICATE_WRONG_PURPOSE"],
  ["PATH_LENGTH_EXCEEDED", "CERTIFICATE_CHAIN_INVALID"],
  ["CERT_CHAIN_TOO_LONG", "CERTIFICATE_CHAIN_INVALID"],
  ["INVALID_CA", "CERTIFICATE_CHAIN_INVALID"],
  ["INVALID_NON_CA", "CERTIFICATE_CHAIN_INVALID", "invalid non-CA certificate has CA markings"],
  ["KEYUSAGE_NO_CERTSIGN", "CERTIFICATE_CHAIN_INVALID", "key usage does not include certificate signing"],
  ["PATH_LOOP", "CERTIFICATE_CHAIN_INVALID", "path loop"],
  ["SUBJECT_ISSUER_MISMATCH", "CERTIFICATE_CHAIN_INVALID", "subject issuer mismatch"],
  ["AKID_SKID_MISMATCH", "CERTIFICATE_CHAIN_INVALID", "authority and subject key identifier mismatch"],
  ["AKID_ISSUER_SERIAL_MISMATCH", "CERTIFICATE_CHAIN_INVALID", "authority and issuer serial number mismatch"],
  ["CERT_SIGNATURE_FAILURE", "CERTIFICATE_CHAIN_INVALID"],
  ["CERT_REVOKED", "CERTIFICATE_REVOKED"],
  ["UNABLE_TO_GET_CRL", "CERTIFICATE_REJECTED"],
  ["UNABLE_TO_DECRYPT_CERT_SIGNATURE", "CERTIFICATE_REJECTED"],
  ["UNABLE_TO_DECRYPT_CRL_SIGNATURE", "CERTIFICATE_REJECTED"],
  ["UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY", "CERTIFICATE_REJECTED"],
  ["CRL_SIGNATURE_FAILURE", "CERTIFICATE_REJECTED"],
  ["CRL_NOT_YET_VALID", "CERTIFICATE_REJECTED"],
  ["CRL_HAS_EXPIRED", "CERTIFICATE_REJECTED"],
  ["ERROR_IN_CERT_NOT_BEFORE_FIELD", "CERTIFICATE_REJECTED"],
  ["ERROR_IN_CERT_NOT_AFTER_FIELD", "CERTIFICATE_REJECTED"],
  ["ERROR_IN_CRL_LAST_UPDATE_FIELD", "CERTIFICATE_REJECTED"],
  ["ERROR_IN_CRL_NEXT_UPDATE_FIELD", "CERTIFICATE_REJECTED"],
  ["OUT_OF_MEM", "CERTIFICATE_REJECTED"],
];

/** Alerts of the server and errors of the handshake, by Node's code. */
const HANDSHAKE_ERRORS: Readonly<Record<string, FailureReason>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: "CERTIFICATE_FOR_OTHER_HOST",

  ERR_SSL_WRONG_VERSION_NUMBER: "NOT_TLS",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "NOT_TLS",
  ERR_SSL_HTTP_REQUEST: "NOT_TLS",
  ERR_SSL_HTTPS_PROXY_REQUEST: "NOT_TLS",

  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "TLS_VERSION_NOT_SHARED",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "TLS_VERSION_NOT_SHARED",
  ERR_SSL_WRONG_SSL_VERSION: "TLS_VERSION_NOT_SHARED",
  ERR_SSL_VERSION_TOO_LOW: "TLS_VERSION_NOT_SHARED",
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: "TLS_VERSION_NOT_SHARED",

  // OpenSSL 3.2 has renamed the alerts of SSL 3 to `ssl/tls alert …`.
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: "TLS_CIPHER_NOT_SHARED",
  "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE": "TLS_CIPHER_NOT_SHARED",
  ERR_SSL_TLSV1_ALERT_INSUFFICIENT_SECURITY: "TLS_CIPHER_NOT_SHARED",
  ERR_SSL_NO_SHARED_CIPHER: "TLS_CIPHER_NOT_SHARED",
  ERR_SSL_WRONG_CIPHER_RETURNED: "TLS_CIPHER_NOT_SHARED",
  ERR_SSL_UNKNOWN_CIPHER_RETURNED: "TLS_CIPHER_NOT_SHARED",
  ERR_SSL_DH_KEY_TOO_SMALL: "TLS_CIPHER_NOT_SHARED",
  ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM: "TLS_CIPHER_NOT_SHARED",
  ERR_SSL_NO_SUITABLE_GROUPS: "TLS_CIPHER_NOT_SHARED",

  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "CLIENT_CERTIFICATE_REQUIRED",
  ERR_SSL_SSLV3_ALERT_NO_CERTIFICATE: "CLIENT_CERTIFICATE_REQUIRED",
  "ERR_SSL_SSL/TLS_ALERT_NO_CERTIFICATE": "CLIENT_CERTIFICATE_REQUIRED",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "CLIENT_CERTIFICATE_REQUIRED",
  "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE": "CLIENT_CERTIFICATE_REQUIRED",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: "CLIENT_CERTIFICATE_REQUIRED",
  "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN": "CLIENT_CERTIFICATE_REQUIRED",

  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: "SERVER_NAME_UNKNOWN",
  ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME: "SERVER_NAME_UNKNOWN",

  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "HTTP_1_NOT_OFFERED",
};

const REJECTIONS = new Set(VERIFICATION_ERRORS.map(([code]) => code));

const CODES_BY_WORDS = new Map(
  VERIFICATION_ERRORS.flatMap(([code, , words]) => (words === undefined ? [] : [[words, code]])),
);

const REASONS = new Map<string, FailureReason>([
  ...VERIFICATION_ERRORS.map(([code, reason]) => [code, reason] as const),
  ...Object.entries(HANDSHAKE_ERRORS),
]);
