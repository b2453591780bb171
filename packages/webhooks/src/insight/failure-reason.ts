import type { FailureReason } from "@collections/outbound";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";

/**
 * Returns the reason why an attempt got no answer. The attempt's row does not store the reason itself. It stores the
 * sentence of `describeFailure`. If the system reported an error code, the sentence ends with it. Returns undefined if
 * the sentence does not show the reason.
 */
export function reasonInText(errorCode: AttemptErrorCode, errorDetail: string): FailureReason | undefined {
  if (errorDetail.startsWith("Our own DNS server ")) return "OWN_DNS_FAILED";
  if (errorDetail.startsWith("Our own ")) return "OWN_NETWORK_FAILED";
  const [, systemCode = ""] = /\((\w+)\)\.$/.exec(errorDetail) ?? [];
  switch (errorCode) {
    case "BLOCKED_ADDRESS":
      return errorDetail.includes("resolves to an address") ? "ADDRESS_NOT_PUBLIC" : "URL_NOT_ALLOWED";
    case "TIMEOUT":
      return errorDetail.startsWith("No connection ") ? "NO_CONNECTION_IN_TIME" : "NO_ANSWER_IN_TIME";
    case "DNS":
      return systemCode === "ESERVFAIL" ? "DOMAIN_DNS_FAILED" : "NAME_NOT_FOUND";
    case "CONNECT":
      return errorDetail.includes("not valid HTTP") ? "NOT_HTTP" : CONNECT_REASONS[systemCode];
    case "TLS":
      return TLS_REASONS[systemCode];
    case "NON_2XX":
    case "REDIRECT":
      return undefined;
  }
}

const CONNECT_REASONS: Readonly<Record<string, FailureReason>> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ECONNRESET: "CONNECTION_RESET",
  EPIPE: "CONNECTION_CLOSED",
  UND_ERR_SOCKET: "CONNECTION_CLOSED",
  EHOSTUNREACH: "HOST_UNREACHABLE",
  UND_ERR_HEADERS_OVERFLOW: "HEADERS_TOO_LARGE",
};

const TLS_REASONS: Readonly<Record<string, FailureReason>> = {
  CERT_HAS_EXPIRED: "CERTIFICATE_EXPIRED",
  CERT_NOT_YET_VALID: "CERTIFICATE_NOT_YET_VALID",
  DEPTH_ZERO_SELF_SIGNED_CERT: "CERTIFICATE_SELF_SIGNED",
  ERR_TLS_CERT_ALTNAME_INVALID: "CERTIFICATE_FOR_OTHER_HOST",
  SELF_SIGNED_CERT_IN_CHAIN: "CERTIFICATE_NOT_TRUSTED",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "CERTIFICATE_NOT_TRUSTED",
  UNABLE_TO_GET_ISSUER_CERT: "CERTIFICATE_CHAIN_INCOMPLETE",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "CERTIFICATE_CHAIN_INCOMPLETE",
  ERR_SSL_WRONG_VERSION_NUMBER: "NOT_TLS",
};
