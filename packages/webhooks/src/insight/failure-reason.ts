import { type FailureReason, tlsReasonOf } from "@collections/outbound";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";

/**
 * Returns the reason why an attempt got no answer. The attempt's row does not store the reason itself. It stores the
 * sentence of `describeFailure`. If the system reported an error code, the sentence ends with it, or with the code and
 * OpenSSL's words. Returns undefined if the sentence does not show the reason.
 */
export function reasonInText(errorCode: AttemptErrorCode, errorDetail: string): FailureReason | undefined {
  if (errorDetail.startsWith("Our own DNS server ")) return "OWN_DNS_FAILED";
  if (errorDetail.startsWith("Our own ")) return "OWN_NETWORK_FAILED";
  const [, systemCode = ""] = /\(([\w/]+)(?:: [^()]*)?\)\.$/.exec(errorDetail) ?? [];
  switch (errorCode) {
    case "BLOCKED_ADDRESS":
      return errorDetail.includes("resolves to an address") ? "ADDRESS_NOT_PUBLIC" : "URL_NOT_ALLOWED";
    case "TIMEOUT":
      return errorDetail.startsWith("No connection ") ? "NO_CONNECTION_IN_TIME" : "NO_ANSWER_IN_TIME";
    case "DNS":
      return systemCode === "ESERVFAIL" ? "DOMAIN_DNS_FAILED" : "NAME_NOT_FOUND";
    case "CONNECT":
      if (errorDetail.includes("not valid HTTP")) return "NOT_HTTP";
      // Earlier versions stored many errors of certificates with the code CONNECT.
      return CONNECT_REASONS[systemCode] ?? tlsReasonOf(systemCode);
    case "TLS":
      return errorDetail.includes("requires a client certificate")
        ? "CLIENT_CERTIFICATE_REQUIRED"
        : tlsReasonOf(systemCode);
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
