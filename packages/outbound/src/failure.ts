import { AssertionError } from "node:assert";
import { errors } from "undici";
import { ForbiddenAddressError } from "./guarded-connector.ts";
import { errnoOf, NameNotResolvedError } from "./name-resolution.ts";

/**
 * The reason why there is no answer. `BLOCKED_ADDRESS`: we do not connect to this address. `ABORTED`: we ended the request
 * ourselves. `CONNECT`: the connection failed, or the answer was not HTTP.
 */
export type FailureCode = "TIMEOUT" | "DNS" | "CONNECT" | "TLS" | "BLOCKED_ADDRESS" | "ABORTED";

/** The cause of a failure: a code, one plain sentence, and whether it is our own fault. */
export type FailureCause = { code: FailureCode; detail: string; ownFault: boolean };

/** Errors of our own machine or network, which the other side did not cause. */
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

/** Errors that mean that no DNS server answered. */
const OWN_DNS_ERRNOS = new Set([...OWN_ERRNOS, "EAI_AGAIN", "EAI_MEMORY", "EAI_SYSTEM", "ECONNREFUSED", "ETIMEOUT"]);

const CONNECT_WORDS: Record<string, string> = {
  ECONNREFUSED: "The other side refused the connection",
  ECONNRESET: "The other side reset the connection before it answered",
  EHOSTUNREACH: "The other side's network could not be reached",
  EPIPE: "The other side closed the connection before it answered",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "The other side's answer was not valid HTTP",
  UND_ERR_HEADERS_OVERFLOW: "The other side's answer had more than 16 KiB of headers",
  UND_ERR_SOCKET: "The other side closed the connection before it answered",
};

const TLS_WORDS: Record<string, string> = {
  CERT_HAS_EXPIRED: "The other side's certificate has expired",
  CERT_NOT_YET_VALID: "The other side's certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The other side's certificate is self-signed",
  ERR_TLS_CERT_ALTNAME_INVALID: "The other side's certificate is for another host",
  SELF_SIGNED_CERT_IN_CHAIN: "The other side's certificate comes from an authority that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "The other side does not send its intermediate certificates",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The other side's certificate comes from an authority that is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "The other side does not send its intermediate certificates",
};

/** Converts an error of the resolver, the socket, TLS or the HTTP parser to one of our codes. */
export function explainFailure(error: Error): FailureCause {
  if (error instanceof ForbiddenAddressError) {
    return theirFault("BLOCKED_ADDRESS", "The host's name resolves to an address that is not public");
  }
  if (error instanceof NameNotResolvedError) return explainDns(error.errno);
  if (error instanceof errors.ConnectTimeoutError) return theirFault("TIMEOUT", "No connection could be made in time");
  if (error instanceof errors.ClientDestroyedError || error instanceof errors.ClientClosedError) return CLOSED;

  const errno = errnoOf(error) ?? "unknown";
  if (isOwnFault(error)) return { code: "CONNECT", detail: `Our own network failed (${errno}).`, ownFault: true };
  if (errno === "ETIMEDOUT") return theirFault("TIMEOUT", "No connection could be made in time");
  if (isTls(errno, error)) return theirFault("TLS", TLS_WORDS[errno] ?? "No secure connection could be agreed", errno);
  if (isNotHttp(error)) return theirFault("CONNECT", "The other side's answer was not valid HTTP");
  return theirFault("CONNECT", CONNECT_WORDS[errno] ?? "The connection failed", errno);
}

/** The cause of all failures while this process is shutting down. */
export const CLOSED: FailureCause = {
  code: "ABORTED",
  detail: "We gave up on the request because this process is shutting down.",
  ownFault: true,
};

function explainDns(errno: string): FailureCause {
  if (OWN_DNS_ERRNOS.has(errno)) {
    return { code: "DNS", detail: `Our own DNS server did not answer (${errno}).`, ownFault: true };
  }
  if (errno === "ESERVFAIL") return theirFault("DNS", "The DNS servers of the host's domain failed", errno);
  return theirFault("DNS", "The host's name has no address in the DNS", errno);
}

/** If several addresses were tried, it is our fault only if each of them failed because of our network. */
function isOwnFault(error: Error): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.every((single) => OWN_ERRNOS.has(errnoOf(single) ?? ""));
  }
  return OWN_ERRNOS.has(errnoOf(error) ?? "");
}

function isTls(errno: string, error: Error): boolean {
  if (errno in TLS_WORDS || errno === "EPROTO") return true;
  if (/^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|CRL_|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_)/.test(errno)) return true;
  return errno === "ECONNRESET" && error.message.includes("before secure TLS connection");
}

/**
 * Whether the answer was not valid HTTP. Undici reports an unexpected status 100, a change of protocol and a status below
 * 100 otherwise than errors of its parser.
 */
function isNotHttp(error: Error): boolean {
  if (error instanceof errors.HTTPParserError || error instanceof AssertionError) return true;
  return error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message);
}

function theirFault(code: FailureCode, words: string, errno?: string): FailureCause {
  return { code, detail: errno === undefined ? `${words}.` : `${words} (${errno}).`, ownFault: false };
}
