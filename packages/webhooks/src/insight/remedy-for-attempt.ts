import type { FailureReason } from "@collections/outbound";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";
import { reasonInText } from "./failure-reason.ts";
import type { Remedy } from "./remedy.ts";
import { remedyForStatus } from "./remedy-for-status.ts";
import { remedyForRedirect } from "./remedy-for-redirect.ts";

/** A failed attempt. `status` and `headers` are null if no answer came. */
export interface FailedAttemptFacts {
  readonly errorCode: AttemptErrorCode;
  /** The reason why no answer came. Absent if the attempt was read from its row, which stores `errorDetail` instead. */
  readonly errorReason?: FailureReason | undefined;
  readonly errorDetail: string | null;
  readonly status: number | null;
  /** The headers of the answer, with names in lower case. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** The callback URL, to resolve a relative `Location`. Null if it is no longer known. */
  readonly url: string | null;
}

/**
 * Explains why an attempt failed, and what the receiver can do. contract: Deliveries
 *
 * @example
 * const { cause, remedy } = remedyFor({
 *   errorCode: "NON_2XX", errorDetail: null, status: 401, headers: {}, url: "https://acme.example/hooks",
 * });
 */
export function remedyFor(failed: FailedAttemptFacts): Remedy {
  const { errorCode, errorDetail, status, headers, url } = failed;
  if (errorCode === "REDIRECT") return remedyForRedirect({ status, location: headers?.["location"], url });
  if (errorCode === "NON_2XX") return remedyForStatus(status);
  const reason = failed.errorReason ?? (errorDetail === null ? undefined : reasonInText(errorCode, errorDetail));
  return (reason && BY_REASON[reason]) ?? BY_CODE[errorCode];
}

const OURS: Remedy = {
  cause: "The fault was on our side: our network or DNS failed. The failure is not counted against your endpoint.",
  remedy: "There is nothing for you to do: the event is sent again. If it is parked, it can be replayed.",
};

const NOT_REACHED: Remedy = {
  cause: "Your server did not take the connection in time.",
  remedy:
    "Check that your server runs, and that no firewall silently drops connections from outside to the port of the callback URL.",
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
  remedy: "Ask the operator of your DNS to check the zone: its servers, its delegation and its DNSSEC signatures.",
};

const BLOCKED: Remedy = {
  cause: "The callback URL leads to an address that is not public, or is not an https URL.",
  remedy:
    "Register an https URL whose host name has only public addresses. The service refuses it if any address is private.",
};

const NOT_HTTP: Remedy = {
  cause: "Your server sent no valid HTTP/1.1 answer.",
  remedy:
    "Check that the port of the callback URL belongs to your web server, and that no proxy in front of it changes answers.",
};

const NO_CONNECTION: Remedy = {
  cause: "The connection to your server failed.",
  remedy: "Check that the callback URL can be reached from the internet, and look at your server's log at that time.",
};

const BROKEN_OFF: Remedy = {
  cause: "Your server, or a proxy in front of it, closed the connection before it answered.",
  remedy:
    "Look for a crash of the receiver at that time, and for a proxy or firewall that cuts connections or refuses the request's size.",
};

const REFUSED: Remedy = {
  cause: "Nothing listens on the port of the callback URL: the connection was refused.",
  remedy: "Start the receiver, check its port against the registered URL, and open that port in the firewall.",
};

const UNREACHABLE: Remedy = {
  cause: "The network of your server could not be reached.",
  remedy: "Check the address that the host name of the callback URL leads to, and the routing and firewall there.",
};

const HEADERS_TOO_LARGE: Remedy = {
  cause: "Your server's answer had more than 16 KiB of headers.",
  remedy: "Answer with few headers: a callback needs no cookies, and no security policies for browsers.",
};

const NO_SECURE_CONNECTION: Remedy = {
  cause: "No TLS connection to your server could be established.",
  remedy:
    "Serve TLS 1.2 or 1.3 with usual ciphers on the port of the callback URL, and ask for no client certificate there.",
};

const OLD_TLS: Remedy = {
  cause: "Your server accepts neither TLS 1.2 nor TLS 1.3.",
  remedy: "Enable TLS 1.2 and TLS 1.3 in your web server or load balancer. Older versions are not used.",
};

const NO_COMMON_CIPHER: Remedy = {
  cause: "Your server accepts none of the TLS ciphers, groups and signature algorithms of the service.",
  remedy:
    "Enable usual ciphers, such as ECDHE with AES-GCM, and groups such as X25519 and P-256, with a certificate of RSA or P-256. If your server asks for a client certificate, switch that off for the callback URL.",
};

const CLIENT_CERTIFICATE: Remedy = {
  cause: "Your server asks for a client certificate, and the service has none.",
  remedy:
    "Switch off client certificates for the callback URL (nginx: ssl_verify_client off). The signature of each request proves that the service has sent it.",
};

const UNKNOWN_SERVER_NAME: Remedy = {
  cause: "Your server does not know the host name of the callback URL (the server name of TLS, SNI).",
  remedy:
    "Configure the host name and its certificate in your web server, or register the URL with a name that it knows.",
};

const ONLY_HTTP_2: Remedy = {
  cause: "Your server does not offer HTTP/1.1 over TLS (ALPN).",
  remedy: "Enable HTTP/1.1 for the callback URL beside other versions. The service sends requests with HTTP/1.1 only.",
};

const INCOMPLETE_CHAIN: Remedy = {
  cause: "Your server does not send the intermediate certificates of its certificate.",
  remedy:
    "Configure the full chain (often a file named fullchain.pem). Browsers fetch missing certificates, but the service does not.",
};

const UNKNOWN_AUTHORITY: Remedy = {
  cause: "Your server's certificate comes from an authority that is not publicly trusted.",
  remedy: "Install a certificate of a public authority, with its intermediate certificates.",
};

const INVALID_CHAIN: Remedy = {
  cause: "Your server's certificate is signed by a certificate that may not sign it.",
  remedy:
    "Ask the authority for a new chain, and configure the intermediate certificates that it delivers with the certificate: each must be a CA certificate, and the path must not be longer than a CA permits.",
};

const WEAK_KEY: Remedy = {
  cause: "A certificate of your server has a key that is too weak.",
  remedy: "Install a certificate with an RSA key of at least 2048 bits, or with a P-256 key, from a current chain.",
};

const WEAK_SIGNATURE: Remedy = {
  cause: "A certificate of your server is signed with a weak algorithm, such as SHA-1.",
  remedy: "Renew the certificate and its intermediate certificates: they must be signed with SHA-256 or better.",
};

const NAME_NOT_PERMITTED: Remedy = {
  cause: "The authority that signed your server's certificate may not certify its host names (name constraints).",
  remedy: "Install a certificate of an authority that may certify every name in it, such as a public authority.",
};

const WRONG_PURPOSE: Remedy = {
  cause:
    "Your server's certificate is not meant for servers, or it was issued with a certificate that is no authority.",
  remedy:
    "Install a certificate whose extended key usage includes server authentication (serverAuth), and whose issuer is a CA certificate.",
};

const REVOKED: Remedy = {
  cause: "The authority has revoked your server's certificate.",
  remedy: "Install a new certificate, with a new key if the old key may be known to others.",
};

const REJECTED: Remedy = {
  cause: "Your server's certificate was rejected for the reason in `detail`, in the words of OpenSSL.",
  remedy:
    "Try openssl s_client -verify_return_error -connect <host>:<port> -servername <host>, and ask your authority for a certificate without this fault.",
};

const EXPIRED: Remedy = {
  cause: "Your server's certificate has expired.",
  remedy: "Renew the certificate, and reload the web server so that it serves the new certificate.",
};

const NOT_YET_VALID: Remedy = {
  cause: "Your server's certificate is not valid yet.",
  remedy: "Check the date from which the certificate is valid, and serve the previous certificate until then.",
};

const SELF_SIGNED: Remedy = {
  cause: "Your server's certificate is self-signed.",
  remedy: "Install a certificate of a public authority, such as Let's Encrypt.",
};

const OTHER_HOST: Remedy = {
  cause: "Your server's certificate is for another host name than the one in the callback URL.",
  remedy:
    "Install a certificate for the callback's host name, or register the callback under a host name in the certificate.",
};

const NOT_TLS: Remedy = {
  cause: "The port of the callback URL does not speak TLS.",
  remedy: "Serve https on this port, or register a callback URL whose port speaks TLS.",
};

/** Attempts that were aborted are not recorded, so their reasons need no remedy. */
const BY_REASON: Partial<Record<FailureReason, Remedy>> = {
  URL_NOT_ALLOWED: BLOCKED,
  ADDRESS_NOT_PUBLIC: BLOCKED,
  NO_CONNECTION_IN_TIME: NOT_REACHED,
  NO_ANSWER_IN_TIME: NOT_ANSWERED,
  NAME_NOT_FOUND: UNKNOWN_NAME,
  DOMAIN_DNS_FAILED: BROKEN_DOMAIN,
  OWN_DNS_FAILED: OURS,
  OWN_NETWORK_FAILED: OURS,
  CONNECTION_REFUSED: REFUSED,
  CONNECTION_RESET: BROKEN_OFF,
  CONNECTION_CLOSED: BROKEN_OFF,
  HOST_UNREACHABLE: UNREACHABLE,
  NOT_HTTP,
  HEADERS_TOO_LARGE,
  CONNECTION_FAILED: NO_CONNECTION,
  CERTIFICATE_EXPIRED: EXPIRED,
  CERTIFICATE_NOT_YET_VALID: NOT_YET_VALID,
  CERTIFICATE_SELF_SIGNED: SELF_SIGNED,
  CERTIFICATE_FOR_OTHER_HOST: OTHER_HOST,
  CERTIFICATE_NOT_TRUSTED: UNKNOWN_AUTHORITY,
  CERTIFICATE_CHAIN_INCOMPLETE: INCOMPLETE_CHAIN,
  CERTIFICATE_CHAIN_INVALID: INVALID_CHAIN,
  CERTIFICATE_KEY_TOO_WEAK: WEAK_KEY,
  CERTIFICATE_SIGNATURE_TOO_WEAK: WEAK_SIGNATURE,
  CERTIFICATE_NAME_NOT_PERMITTED: NAME_NOT_PERMITTED,
  CERTIFICATE_WRONG_PURPOSE: WRONG_PURPOSE,
  CERTIFICATE_REVOKED: REVOKED,
  CERTIFICATE_REJECTED: REJECTED,
  CLIENT_CERTIFICATE_REQUIRED: CLIENT_CERTIFICATE,
  TLS_VERSION_NOT_SHARED: OLD_TLS,
  TLS_CIPHER_NOT_SHARED: NO_COMMON_CIPHER,
  SERVER_NAME_UNKNOWN: UNKNOWN_SERVER_NAME,
  HTTP_1_NOT_OFFERED: ONLY_HTTP_2,
  NOT_TLS,
  TLS_FAILED: NO_SECURE_CONNECTION,
} satisfies Record<Exclude<FailureReason, "ABORTED_BY_CALLER" | "SHUTTING_DOWN">, Remedy>;

/** The remedies by error code, for an attempt whose exact reason is unknown. */
const BY_CODE: Readonly<Record<Exclude<AttemptErrorCode, "NON_2XX" | "REDIRECT">, Remedy>> = {
  TIMEOUT: NOT_ANSWERED,
  DNS: UNKNOWN_NAME,
  CONNECT: NO_CONNECTION,
  TLS: NO_SECURE_CONNECTION,
  BLOCKED_ADDRESS: BLOCKED,
};
