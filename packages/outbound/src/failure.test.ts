import { errors } from "undici";
import { expect, test } from "vitest";
import { describeFailure } from "./describe-failure.ts";
import { explainFailure } from "./failure.ts";
import type { FailureReason } from "./failure-reason.ts";
import { ForbiddenAddressError } from "./guarded-connector.ts";
import { NameNotResolvedError } from "./name-resolution.ts";

test.each<[string, Error, string, FailureReason, boolean]>([
  ["a forbidden address", new ForbiddenAddressError("x.example"), "BLOCKED_ADDRESS", "ADDRESS_NOT_PUBLIC", false],
  ["an unknown name", new NameNotResolvedError("x.example", system("ENOTFOUND")), "DNS", "NAME_NOT_FOUND", false],
  ["a broken zone", new NameNotResolvedError("x.example", system("ESERVFAIL")), "DNS", "DOMAIN_DNS_FAILED", false],
  ["a silent DNS server", new NameNotResolvedError("x.example", system("EAI_AGAIN")), "DNS", "OWN_DNS_FAILED", true],
  [
    "a DNS server that timed out",
    new NameNotResolvedError("x.example", system("ETIMEOUT")),
    "DNS",
    "OWN_DNS_FAILED",
    true,
  ],
  [
    "no file handles for the resolver",
    new NameNotResolvedError("x.example", system("EMFILE")),
    "DNS",
    "OWN_DNS_FAILED",
    true,
  ],
  ["no route to the network", system("ENETUNREACH"), "CONNECT", "OWN_NETWORK_FAILED", true],
  ["no file handles", system("EMFILE"), "CONNECT", "OWN_NETWORK_FAILED", true],
  ["no local port", system("EADDRNOTAVAIL"), "CONNECT", "OWN_NETWORK_FAILED", true],
  ["a refused connection", system("ECONNREFUSED"), "CONNECT", "CONNECTION_REFUSED", false],
  [
    "a refused IPv4 connection and no IPv6 network",
    several("ECONNREFUSED", "ENETUNREACH"),
    "CONNECT",
    "CONNECTION_REFUSED",
    false,
  ],
  ["no route for any address", several("ENETUNREACH", "ENETUNREACH"), "CONNECT", "OWN_NETWORK_FAILED", true],
  ["a silent host", system("ETIMEDOUT"), "TIMEOUT", "NO_CONNECTION_IN_TIME", false],
  ["a connect timeout", new errors.ConnectTimeoutError(), "TIMEOUT", "NO_CONNECTION_IN_TIME", false],
  ["an expired certificate", rejected("CERT_HAS_EXPIRED"), "TLS", "CERTIFICATE_EXPIRED", false],
  ["another host's certificate", rejected("ERR_TLS_CERT_ALTNAME_INVALID"), "TLS", "CERTIFICATE_FOR_OTHER_HOST", false],
  ["a missing intermediate", rejected("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "TLS", "CERTIFICATE_CHAIN_INCOMPLETE", false],
  ["a protocol alert", system("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"), "TLS", "TLS_VERSION_NOT_SHARED", false],
  ["a revoked certificate", rejected("CERT_REVOKED"), "TLS", "CERTIFICATE_REVOKED", false],
  ["an old revocation list", rejected("CRL_HAS_EXPIRED"), "TLS", "CERTIFICATE_REJECTED", false],
  ["an unknown error of a certificate", rejected("UNSPECIFIED"), "TLS", "CERTIFICATE_REJECTED", false],
  ["an unknown error of TLS", system("ERR_SSL_ODD"), "TLS", "TLS_FAILED", false],
  ["a closed connection", new errors.SocketError("other side closed"), "CONNECT", "CONNECTION_CLOSED", false],
  ["bytes that are not HTTP", new errors.HTTPParserError("bad"), "CONNECT", "NOT_HTTP", false],
  ["an unknown error", new Error("odd"), "CONNECT", "CONNECTION_FAILED", false],
])("explainFailure explains %s (%s) as %s with the reason %s", (_what, error, code, reason, ownFault) => {
  const cause = explainFailure(error);
  expect(cause).toMatchObject({ code, reason, ownFault });
  expect(describeFailure(cause)).toMatch(/^[A-Z].*[^.]\.$/);
});

function rejected(code: string): Error {
  return Object.assign(new Error("words of OpenSSL"), { code });
}

function system(code: string): Error {
  return Object.assign(new Error(`connect ${code} 10.0.0.1:443`), { code });
}

function several(...codes: [string, ...string[]]): Error {
  return Object.assign(new AggregateError(codes.map(system)), { code: codes[0] });
}
