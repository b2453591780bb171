import type { FailureCause, FailureReason } from "./failure-reason.ts";

/**
 * Describes a failure in one plain sentence for people, without addresses or secrets.
 *
 * @example
 * // "The server refused the connection (ECONNREFUSED)."
 * const sentence = describeFailure({ reason: "CONNECTION_REFUSED", systemCode: "ECONNREFUSED" });
 */
export function describeFailure(failure: Omit<FailureCause, "code" | "ownFault">): string {
  const { reason, systemCode, words, timeoutMs, urlProblem } = failure;
  if (urlProblem !== undefined) return urlProblem;
  if (timeoutMs !== undefined && reason in WITHIN) return `${WITHIN[reason]} within ${timeoutMs} ms.`;
  const details = [systemCode, words].filter((detail) => detail !== undefined);
  return details.length === 0 ? `${WORDS[reason]}.` : `${WORDS[reason]} (${details.join(": ")}).`;
}

const WITHIN: Partial<Record<FailureReason, string>> = {
  NO_CONNECTION_IN_TIME: "No connection was made",
  NO_ANSWER_IN_TIME: "No answer came",
};

const WORDS: Readonly<Record<FailureReason, string>> = {
  URL_NOT_ALLOWED: "The URL is not allowed",
  ADDRESS_NOT_PUBLIC: "The host's name resolves to an address that is not public",
  NO_CONNECTION_IN_TIME: "No connection could be made in time",
  NO_ANSWER_IN_TIME: "No answer came in time",
  NAME_NOT_FOUND: "The host's name has no address in the DNS",
  DOMAIN_DNS_FAILED: "The DNS servers of the host's domain failed",
  OWN_DNS_FAILED: "Our own DNS server did not answer",
  OWN_NETWORK_FAILED: "Our own network failed",
  CONNECTION_REFUSED: "The server refused the connection",
  CONNECTION_RESET: "The server reset the connection before it answered",
  CONNECTION_CLOSED: "The server closed the connection before it answered",
  HOST_UNREACHABLE: "The server's network could not be reached",
  NOT_HTTP: "The server's answer was not valid HTTP",
  HEADERS_TOO_LARGE: "The server's answer had more than 16 KiB of headers",
  CONNECTION_FAILED: "The connection failed",
  CERTIFICATE_EXPIRED: "The server's certificate has expired",
  CERTIFICATE_NOT_YET_VALID: "The server's certificate is not valid yet",
  CERTIFICATE_SELF_SIGNED: "The server's certificate is self-signed",
  CERTIFICATE_FOR_OTHER_HOST: "The server's certificate is for another host",
  CERTIFICATE_NOT_TRUSTED: "The server's certificate comes from an authority that is not trusted",
  CERTIFICATE_CHAIN_INCOMPLETE: "The server does not send its intermediate certificates",
  CERTIFICATE_CHAIN_INVALID: "The chain of the server's certificate is not valid",
  CERTIFICATE_KEY_TOO_WEAK: "A certificate of the server has a key that is too weak",
  CERTIFICATE_SIGNATURE_TOO_WEAK: "A certificate of the server has a signature that is too weak",
  CERTIFICATE_NAME_NOT_PERMITTED: "The authority of the server's certificate may not certify its names",
  CERTIFICATE_WRONG_PURPOSE: "A certificate of the server is not meant for its purpose",
  CERTIFICATE_REVOKED: "The server's certificate has been revoked",
  CERTIFICATE_REJECTED: "The server's certificate was rejected",
  CLIENT_CERTIFICATE_REQUIRED: "The server requires a client certificate",
  TLS_VERSION_NOT_SHARED: "The server accepts neither TLS 1.2 nor TLS 1.3",
  TLS_CIPHER_NOT_SHARED: "The server accepts none of our TLS ciphers",
  SERVER_NAME_UNKNOWN: "The server does not know the host's name",
  HTTP_1_NOT_OFFERED: "The server does not offer HTTP/1.1 over TLS",
  NOT_TLS: "The server's port does not speak TLS",
  TLS_FAILED: "No TLS connection could be established",
  ABORTED_BY_CALLER: "We gave up on the request before an answer came",
  SHUTTING_DOWN: "We gave up on the request because this process is shutting down",
};
