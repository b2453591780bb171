import { AssertionError } from "node:assert";
import { errors } from "undici";
import { ForbiddenAddressError } from "./guarded-connector.ts";
import { errnoOf, NameNotResolvedError } from "./name-resolution.ts";

/**
 * The kind of failure of a request without an answer. `BLOCKED_ADDRESS`: connecting to this address is forbidden.
 * `ABORTED`: we ended the request ourselves. `CONNECT`: the connection failed, or the answer was not HTTP.
 */
export type FailureCode = "TIMEOUT" | "DNS" | "CONNECT" | "TLS" | "BLOCKED_ADDRESS" | "ABORTED";

/** The reason why there is no answer. Each reason belongs to one `FailureCode`. */
export type FailureReason =
  // BLOCKED_ADDRESS
  | "URL_NOT_ALLOWED"
  | "ADDRESS_NOT_PUBLIC"
  // TIMEOUT
  | "NO_CONNECTION_IN_TIME"
  | "NO_ANSWER_IN_TIME"
  // DNS
  | "NAME_NOT_FOUND"
  | "DOMAIN_DNS_FAILED"
  | "OWN_DNS_FAILED"
  // CONNECT
  | "OWN_NETWORK_FAILED"
  | "CONNECTION_REFUSED"
  | "CONNECTION_RESET"
  | "CONNECTION_CLOSED"
  | "HOST_UNREACHABLE"
  | "NOT_HTTP"
  | "HEADERS_TOO_LARGE"
  | "CONNECTION_FAILED"
  // TLS
  | "CERTIFICATE_EXPIRED"
  | "CERTIFICATE_NOT_YET_VALID"
  | "CERTIFICATE_SELF_SIGNED"
  | "CERTIFICATE_FOR_OTHER_HOST"
  | "CERTIFICATE_NOT_TRUSTED"
  | "CERTIFICATE_CHAIN_INCOMPLETE"
  | "NOT_TLS"
  | "TLS_FAILED"
  // ABORTED
  | "ABORTED_BY_CALLER"
  | "SHUTTING_DOWN";

/** The cause of a failure: a code, a reason, details of the reason, and whether the cause is on our side. */
export type FailureCause = {
  code: FailureCode;
  reason: FailureReason;
  /** The code of the underlying error, such as ECONNREFUSED. Some reasons have none. */
  systemCode?: string;
  /** The time limit of a request that took too long. */
  timeoutMs?: number;
  /** The reason that `checkUrl` returned, if the URL is not allowed. */
  urlProblem?: string;
  ownFault: boolean;
};

/** Errors that our own machine or network caused, and not the server. */
const OWN_ERRNOS = new Set([
  "EACCES",
  "EADDRNOTAVAIL",
  "EMFILE",
  "ENETDOWN",
  "ENETUNREACH",
  "ENFILE",
  "ENOBUFS",
  "ENOMEM",
  "EPERM",
]);

/** Resolver errors with a cause on our side: our machine or network failed, or our DNS server did not answer. */
const OWN_DNS_ERRNOS = new Set([...OWN_ERRNOS, "EAI_AGAIN", "EAI_MEMORY", "EAI_SYSTEM", "ECONNREFUSED", "ETIMEOUT"]);

const CONNECT_REASONS: Record<string, FailureReason> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ECONNRESET: "CONNECTION_RESET",
  EHOSTUNREACH: "HOST_UNREACHABLE",
  EPIPE: "CONNECTION_CLOSED",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "NOT_HTTP",
  UND_ERR_HEADERS_OVERFLOW: "HEADERS_TOO_LARGE",
  UND_ERR_SOCKET: "CONNECTION_CLOSED",
};

const TLS_REASONS: Record<string, FailureReason> = {
  CERT_HAS_EXPIRED: "CERTIFICATE_EXPIRED",
  CERT_NOT_YET_VALID: "CERTIFICATE_NOT_YET_VALID",
  DEPTH_ZERO_SELF_SIGNED_CERT: "CERTIFICATE_SELF_SIGNED",
  ERR_SSL_WRONG_VERSION_NUMBER: "NOT_TLS",
  ERR_TLS_CERT_ALTNAME_INVALID: "CERTIFICATE_FOR_OTHER_HOST",
  SELF_SIGNED_CERT_IN_CHAIN: "CERTIFICATE_NOT_TRUSTED",
  UNABLE_TO_GET_ISSUER_CERT: "CERTIFICATE_CHAIN_INCOMPLETE",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "CERTIFICATE_NOT_TRUSTED",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "CERTIFICATE_CHAIN_INCOMPLETE",
};

/** Converts an error of the resolver, the socket, TLS or the HTTP parser to one of our codes and reasons. */
export function explainFailure(error: Error): FailureCause {
  if (error instanceof ForbiddenAddressError) return theirFault("BLOCKED_ADDRESS", "ADDRESS_NOT_PUBLIC");
  if (error instanceof NameNotResolvedError) return explainDns(error.errno);
  if (error instanceof errors.ConnectTimeoutError) return theirFault("TIMEOUT", "NO_CONNECTION_IN_TIME");
  if (error instanceof errors.ClientDestroyedError || error instanceof errors.ClientClosedError) return CLOSED;

  const errno = errnoOf(error) ?? "unknown";
  if (isOwnFault(error)) {
    return { code: "CONNECT", reason: "OWN_NETWORK_FAILED", systemCode: errno, ownFault: true };
  }
  if (errno === "ETIMEDOUT") return theirFault("TIMEOUT", "NO_CONNECTION_IN_TIME");
  if (isTls(errno, error)) return theirFault("TLS", TLS_REASONS[errno] ?? "TLS_FAILED", errno);
  if (isNotHttp(error)) return theirFault("CONNECT", "NOT_HTTP");
  return theirFault("CONNECT", CONNECT_REASONS[errno] ?? "CONNECTION_FAILED", errno);
}

/** The cause of all failures while this process is shutting down. */
export const CLOSED: FailureCause = { code: "ABORTED", reason: "SHUTTING_DOWN", ownFault: true };

function explainDns(errno: string): FailureCause {
  if (OWN_DNS_ERRNOS.has(errno)) {
    return { code: "DNS", reason: "OWN_DNS_FAILED", systemCode: errno, ownFault: true };
  }
  return theirFault("DNS", errno === "ESERVFAIL" ? "DOMAIN_DNS_FAILED" : "NAME_NOT_FOUND", errno);
}

/**
 * Returns whether our own machine or network caused the error. If several addresses were tried, our machine or network
 * must have caused the failure of every one.
 */
function isOwnFault(error: Error): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.every((single) => OWN_ERRNOS.has(errnoOf(single) ?? ""));
  }
  return OWN_ERRNOS.has(errnoOf(error) ?? "");
}

function isTls(errno: string, error: Error): boolean {
  if (errno in TLS_REASONS || errno === "EPROTO") return true;
  if (/^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|CRL_|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_)/.test(errno)) return true;
  return errno === "ECONNRESET" && error.message.includes("before secure TLS connection");
}

/**
 * Returns whether the error means that the answer was not valid HTTP. Undici has three error types for this: a
 * SocketError for an unexpected status 100 or change of protocol, an AssertionError for a status below 100, and an
 * HTTPParserError for everything else.
 */
function isNotHttp(error: Error): boolean {
  if (error instanceof errors.HTTPParserError || error instanceof AssertionError) return true;
  return error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message);
}

function theirFault(code: FailureCode, reason: FailureReason, systemCode?: string): FailureCause {
  return { code, reason, ...(systemCode !== undefined && { systemCode }), ownFault: false };
}
