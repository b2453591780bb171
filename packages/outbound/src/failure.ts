import { AssertionError } from "node:assert";
import { errors } from "undici";
import { InvalidAnswerError } from "./answer-stream.ts";
import { ForbiddenAddressError } from "./guarded-connector.ts";
import type { FailureCause, FailureCode, FailureReason } from "./failure-reason.ts";
import { errnoOf, NameNotResolvedError } from "./name-resolution.ts";
import { OWN_DNS_ERRNOS, OWN_ERRNOS } from "./own-fault.ts";
import { isTlsError, TlsError } from "./tls-failure.ts";

const CONNECT_REASONS: Record<string, FailureReason> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ECONNRESET: "CONNECTION_RESET",
  EHOSTUNREACH: "HOST_UNREACHABLE",
  EPIPE: "CONNECTION_CLOSED",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "NOT_HTTP",
  UND_ERR_HEADERS_OVERFLOW: "HEADERS_TOO_LARGE",
  UND_ERR_SOCKET: "CONNECTION_CLOSED",
};

/** Converts an error of the resolver, the socket, TLS or the HTTP parser to one of our codes and reasons. */
export function explainFailure(error: Error): FailureCause {
  if (error instanceof ForbiddenAddressError) return theirFault("BLOCKED_ADDRESS", "ADDRESS_NOT_PUBLIC");
  if (error instanceof NameNotResolvedError) return explainDns(error.errno);
  if (error instanceof errors.ConnectTimeoutError) return theirFault("TIMEOUT", "NO_CONNECTION_IN_TIME");
  if (error instanceof errors.ClientDestroyedError || error instanceof errors.ClientClosedError) return CLOSED;
  if (isTlsError(error)) return explainTls(error);

  const errno = errnoOf(error) ?? "unknown";
  if (isOwnFault(error)) {
    return { code: "CONNECT", reason: "OWN_NETWORK_FAILED", systemCode: errno, ownFault: true };
  }
  if (errno === "ETIMEDOUT") return theirFault("TIMEOUT", "NO_CONNECTION_IN_TIME");
  if (isNotHttp(error)) return notHttp(error);
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

function explainTls(error: Error): FailureCause {
  const { reason, systemCode, words } =
    error instanceof TlsError ? error : new TlsError(error, { asksForCertificate: false });
  return { ...theirFault("TLS", reason, systemCode), ...(words !== undefined && { words }) };
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

/**
 * Returns whether the error means that the answer was not valid HTTP. Most are found by
 * `readAnswers`. Undici has three error types for the others: a SocketError for bytes after an answer, an AssertionError
 * for an odd status, and an HTTPParserError for everything else.
 */
function isNotHttp(error: Error): boolean {
  if (error instanceof InvalidAnswerError || error instanceof errors.HTTPParserError || error instanceof AssertionError)
    return true;
  return error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message);
}

function notHttp(error: Error): FailureCause {
  const words = error instanceof InvalidAnswerError ? error.problem : wordsOfParser(error);
  return { ...theirFault("CONNECT", "NOT_HTTP"), ...(words !== undefined && { words }) };
}

/** Returns the reason that undici's parser has put in brackets. */
function wordsOfParser({ message }: Error): string | undefined {
  return /\(([^()]+)\)$/.exec(message)?.[1];
}

function theirFault(code: FailureCode, reason: FailureReason, systemCode?: string): FailureCause {
  return { code, reason, ...(systemCode !== undefined && { systemCode }), ownFault: false };
}
