import { errors } from "undici";
import { expect, test } from "vitest";
import { explainFailure } from "./failure.ts";
import { ForbiddenAddressError } from "./guarded-connector.ts";
import { NameNotResolvedError } from "./name-resolution.ts";

test.each<[string, Error, string, boolean]>([
  ["a forbidden address", new ForbiddenAddressError("x.example"), "BLOCKED_ADDRESS", false],
  ["an unknown name", new NameNotResolvedError("x.example", system("ENOTFOUND")), "DNS", false],
  ["a broken zone", new NameNotResolvedError("x.example", system("ESERVFAIL")), "DNS", false],
  ["a silent DNS server", new NameNotResolvedError("x.example", system("EAI_AGAIN")), "DNS", true],
  ["a DNS server that timed out", new NameNotResolvedError("x.example", system("ETIMEOUT")), "DNS", true],
  ["no file handles for the resolver", new NameNotResolvedError("x.example", system("EMFILE")), "DNS", true],
  ["no route to the network", system("ENETUNREACH"), "CONNECT", true],
  ["no file handles", system("EMFILE"), "CONNECT", true],
  ["no local port", system("EADDRNOTAVAIL"), "CONNECT", true],
  ["a refused connection", system("ECONNREFUSED"), "CONNECT", false],
  ["a refused IPv4 connection and no IPv6 network", several("ECONNREFUSED", "ENETUNREACH"), "CONNECT", false],
  ["no route for any address", several("ENETUNREACH", "ENETUNREACH"), "CONNECT", true],
  ["a silent host", system("ETIMEDOUT"), "TIMEOUT", false],
  ["a connect timeout", new errors.ConnectTimeoutError(), "TIMEOUT", false],
  ["an expired certificate", system("CERT_HAS_EXPIRED"), "TLS", false],
  ["another host's certificate", system("ERR_TLS_CERT_ALTNAME_INVALID"), "TLS", false],
  ["a missing intermediate", system("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "TLS", false],
  ["a protocol alert", system("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"), "TLS", false],
  ["a closed connection", new errors.SocketError("other side closed"), "CONNECT", false],
  ["bytes that are not HTTP", new errors.HTTPParserError("bad"), "CONNECT", false],
  ["an unknown error", new Error("odd"), "CONNECT", false],
])("%s", (_what, error, code, ownFault) => {
  const cause = explainFailure(error);
  expect(cause).toMatchObject({ code, ownFault });
  expect(cause.detail).toMatch(/^[A-Z][^.]*\.$/);
});

function system(code: string): Error {
  return Object.assign(new Error(`connect ${code} 10.0.0.1:443`), { code });
}

function several(...codes: [string, ...string[]]): Error {
  return Object.assign(new AggregateError(codes.map(system)), { code: codes[0] });
}
