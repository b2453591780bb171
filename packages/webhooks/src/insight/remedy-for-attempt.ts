import type { AttemptErrorCode } from "../endpoint/attempt.ts";
import type { Remedy } from "./remedy.ts";
import { remedyForStatus } from "./remedy-for-status.ts";
import { remedyForRedirect } from "./remedy-for-redirect.ts";

/** A failed attempt as it was logged. `status` and `headers` are null when no answer came. */
export interface FailedAttemptFacts {
  readonly errorCode: AttemptErrorCode;
  readonly errorDetail: string | null;
  readonly status: number | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** The callback, to read a relative `Location` by; null when it is not known any more. */
  readonly url: string | null;
}

/**
 * Says of a failed attempt why it failed and what to do. contract: Deliveries
 *
 * @example
 * const { cause, remedy } = remedyFor({
 *   errorCode: "NON_2XX", errorDetail: null, status: 401, headers: {}, url: "https://lender.example/hooks",
 * });
 */
export function remedyFor(failed: FailedAttemptFacts): Remedy {
  const { errorCode, errorDetail, status, headers, url } = failed;
  if (errorDetail?.startsWith(OUR_FAULT)) return OURS;
  const reason = reasonIn(errorDetail);
  switch (errorCode) {
    case "REDIRECT":
      return remedyForRedirect({ status, location: headers?.["location"], url });
    case "NON_2XX":
      return remedyForStatus(status);
    case "TIMEOUT":
      return errorDetail?.startsWith("No connection") ? NOT_REACHED : NOT_ANSWERED;
    case "DNS":
      return reason === "ESERVFAIL" ? BROKEN_DOMAIN : UNKNOWN_NAME;
    case "TLS":
      return (reason === undefined ? undefined : BY_TLS_REASON.get(reason)) ?? NO_SECURE_CONNECTION;
    case "CONNECT":
      if (errorDetail?.includes("not valid HTTP")) return NOT_HTTP;
      return (reason === undefined ? undefined : BY_CONNECT_REASON.get(reason)) ?? NO_CONNECTION;
    case "BLOCKED_ADDRESS":
      return BLOCKED;
  }
}

/** How the outbound door begins what it says of faults of our own side. */
const OUR_FAULT = "Our own ";

/** The system's name for the fault, such as ECONNREFUSED: the outbound door ends its sentence with it. */
function reasonIn(detail: string | null): string | undefined {
  return /\((\w+)\)\.$/.exec(detail ?? "")?.[1];
}

const OURS: Remedy = {
  cause: "The fault was on our side: the service could not get out to your server. It is not counted against you.",
  remedy: "There is nothing for you to do: the event is tried again, and once it is parked it can be replayed.",
};

const NOT_REACHED: Remedy = {
  cause: "Your server did not take the connection in time.",
  remedy:
    "Check that it runs, and that a firewall does not silently drop connections that come from outside to the port of the callback URL.",
};

const NOT_ANSWERED: Remedy = {
  cause: "Your server took the connection but sent no status line in time.",
  remedy: "Store the event and answer 2xx first, then work on it. An answer has to begin within 10 seconds.",
};

const UNKNOWN_NAME: Remedy = {
  cause: "The host name of the callback URL has no address in the public DNS.",
  remedy: "Look for a typing mistake in the registered URL, or publish an A or AAAA record for the name.",
};

const BROKEN_DOMAIN: Remedy = {
  cause: "The DNS servers of your domain failed to answer for the host name of the callback URL.",
  remedy: "Have whoever runs your DNS check the zone: its servers, its delegation and its DNSSEC signatures.",
};

const BLOCKED: Remedy = {
  cause: "The callback URL leads to an address that is not public, or is not an https URL.",
  remedy:
    "Give its host name public addresses only, private ones beside them are refused too, and register it with https.",
};

const NOT_HTTP: Remedy = {
  cause: "What your server sent back is no valid HTTP/1.1 answer.",
  remedy: "Check that the port of the callback URL belongs to your web server, and what a proxy before it changes.",
};

const NO_CONNECTION: Remedy = {
  cause: "The connection to your server failed.",
  remedy: "Check that the callback URL can be reached from the internet, and look at your server's log at that time.",
};

const BROKEN_OFF: Remedy = {
  cause: "Your server, or a proxy before it, closed the connection before it answered.",
  remedy:
    "Look for a crash of the receiver at that time, and for a proxy or firewall that cuts connections or refuses the request's size.",
};

const BY_CONNECT_REASON: ReadonlyMap<string, Remedy> = new Map([
  [
    "ECONNREFUSED",
    {
      cause: "Nothing listens on the port of the callback URL: the connection was refused.",
      remedy: "Start the receiver, check its port against the registered URL, and open that port in the firewall.",
    },
  ],
  ["ECONNRESET", BROKEN_OFF],
  ["EPIPE", BROKEN_OFF],
  ["UND_ERR_SOCKET", BROKEN_OFF],
  [
    "EHOSTUNREACH",
    {
      cause: "The network of your server could not be reached.",
      remedy: "Check the address that the host name of the callback URL leads to, and the routing and firewall there.",
    },
  ],
  [
    "UND_ERR_HEADERS_OVERFLOW",
    {
      cause: "Your server's answer had more than 16 KiB of headers.",
      remedy: "Answer with few headers: a callback needs no cookies, and no security policies for browsers.",
    },
  ],
]);

const NO_SECURE_CONNECTION: Remedy = {
  cause: "No TLS connection could be agreed with your server.",
  remedy:
    "Serve TLS 1.2 or 1.3 with usual ciphers on the port of the callback URL, and ask for no client certificate there.",
};

const INCOMPLETE_CHAIN: Remedy = {
  cause: "Your server does not send the intermediate certificates of its certificate.",
  remedy:
    "Configure the full chain (often a file named fullchain.pem). Browsers fill that gap by themselves, we do not.",
};

const UNKNOWN_AUTHORITY: Remedy = {
  cause: "Your server's certificate comes from an authority that is not publicly trusted.",
  remedy: "Install a certificate of a public authority, with its intermediate certificates.",
};

const BY_TLS_REASON: ReadonlyMap<string, Remedy> = new Map([
  [
    "CERT_HAS_EXPIRED",
    {
      cause: "Your server's certificate has expired.",
      remedy: "Renew it, and reload the web server so that it serves the new one.",
    },
  ],
  [
    "CERT_NOT_YET_VALID",
    {
      cause: "Your server's certificate is not valid yet.",
      remedy: "Check the date from which it is valid, and serve the previous one until then.",
    },
  ],
  [
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    {
      cause: "Your server's certificate is self-signed.",
      remedy: "Install a certificate of a public authority, such as Let's Encrypt.",
    },
  ],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    {
      cause: "Your server's certificate is for another host name than that of the callback URL.",
      remedy: "Install one that names this host, or register the callback under a name that the certificate has.",
    },
  ],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNKNOWN_AUTHORITY],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNKNOWN_AUTHORITY],
  ["UNABLE_TO_GET_ISSUER_CERT", INCOMPLETE_CHAIN],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", INCOMPLETE_CHAIN],
  [
    "ERR_SSL_WRONG_VERSION_NUMBER",
    {
      cause: "The port of the callback URL does not speak TLS.",
      remedy: "Serve https there, or register the port that does.",
    },
  ],
]);
