import type { Socket } from "node:net";
import type { TlsOptions, TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { describeFailure } from "./describe-failure.ts";
import type { FailureReason } from "./failure-reason.ts";
import { createOutbound, type OutboundOptions, type OutboundRequest } from "./outbound.ts";
import { answer, drip, openOrigin, pour } from "../tests/scripted-origin.ts";
import { expired, selfSigned } from "../tests/self-signed.ts";

const LOOPBACK = [{ address: "127.0.0.1", family: 4 }];
/** The first bytes of a handshake record of 16 KB with a ServerHello that fills it. */
const GREETING = Buffer.from([0x16, 3, 3, 0x40, 0, 2, 0, 0x3f, 0xfc]);
const OLD: TlsOptions = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };

const NOT_SENT = { kind: "failure", code: "TLS", ownFault: false, requestSent: false };

test.each<[what: string, tls: "tls" | TlsOptions, options: OutboundOptions, reason: string]>([
  ["that is self-signed", "tls", { ca: "" }, "CERTIFICATE_SELF_SIGNED"],
  ["of another host", "tls", { allow: "other.test:*" }, "CERTIFICATE_FOR_OTHER_HOST"],
  ["that has expired", expired, { ca: expired.cert }, "CERTIFICATE_EXPIRED"],
])("a certificate %s causes a TLS failure, before anything is sent", async (_what, tls, options, reason) => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), tls);
  const host = options.allow === undefined ? "lender.test" : "other.test";
  const got = await ask(`https://${host}:${origin.port}`, {}, options);
  expect(got).toMatchObject({ kind: "failure", code: "TLS", reason, ownFault: false, requestSent: false });
  expect(origin.requests).toEqual([]);
});

test("a server with only outdated TLS versions is named", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), OLD);
  const got = await ask(`https://lender.test:${origin.port}`);
  expect(got).toMatchObject({ ...NOT_SENT, reason: "TLS_VERSION_NOT_SHARED" });
});

test("a server with only ciphers that encrypt nothing is named", async () => {
  const nothing: TlsOptions = { maxVersion: "TLSv1.2", ciphers: "eNULL:@SECLEVEL=0" };
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), nothing);
  const got = await ask(`https://lender.test:${origin.port}`);
  expect(got).toMatchObject({ ...NOT_SENT, reason: "TLS_CIPHER_NOT_SHARED" });
});

describe.each(["TLSv1.2", "TLSv1.3"] as const)("a client certificate over %s", (version) => {
  const asks: TlsOptions = { minVersion: version, maxVersion: version, requestCert: true };

  test("that the server requires is named in the failure", async () => {
    await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), asks);
    const got = await ask(`https://lender.test:${origin.port}`);
    expect(got).toMatchObject({ kind: "failure", code: "TLS", reason: "CLIENT_CERTIFICATE_REQUIRED", ownFault: false });
    expect(origin.requests).toEqual([]);
  });

  test.each<[how: string, refuse: (tls: TLSSocket, tcp: Socket) => unknown]>([
    ["closes", (tls) => tls.end()],
    ["resets", (_tls, tcp) => tcp.resetAndDestroy()],
  ])("is named if the server %s the connection without an alert", async (_how, refuse) => {
    await using origin = await openOrigin(() => undefined, { ...asks, rejectUnauthorized: false });
    origin.server.on("connection", (tcp) =>
      origin.server.once("secureConnection", (tls: TLSSocket) => refuse(tls, tcp)),
    );
    const got = await ask(`https://lender.test:${origin.port}`);
    expect(got).toMatchObject({ kind: "failure", code: "TLS", reason: "CLIENT_CERTIFICATE_REQUIRED" });
  });

  test("that the server only asks for is not needed", async () => {
    await using origin = await openOrigin(
      (socket, _request, number) => {
        if (number === 1) socket.write(answer("200 OK"));
        else socket.destroy();
      },
      { ...asks, rejectUnauthorized: false },
    );
    const outbound = open();
    const request = { method: "POST" as const, url: `https://lender.test:${origin.port}`, timeoutMs: 300_000 };
    expect(await outbound.request(request)).toMatchObject({ kind: "answer", status: 200 });
    expect(await outbound.request(request)).toMatchObject({ kind: "failure", code: "CONNECT" });
    await outbound.close();
  });
});

test("a server that answers and then closes is not suspected of a client certificate", async () => {
  await using origin = await openOrigin((socket) => socket.destroy(), "tls");
  const got = await ask(`https://lender.test:${origin.port}`);
  expect(got).toMatchObject({ kind: "failure", code: "CONNECT", ownFault: false, requestSent: true });
});

test.each<[name: string, alert: number, reason: FailureReason]>([
  ["handshake_failure", 40, "TLS_CIPHER_NOT_SHARED"],
  ["bad_certificate", 42, "CLIENT_CERTIFICATE_REQUIRED"],
  ["protocol_version", 70, "TLS_VERSION_NOT_SHARED"],
  ["insufficient_security", 71, "TLS_CIPHER_NOT_SHARED"],
  ["internal_error", 80, "TLS_FAILED"],
  ["unrecognized_name", 112, "SERVER_NAME_UNKNOWN"],
  ["no_application_protocol", 120, "HTTP_1_NOT_OFFERED"],
])("the alert %s (%i) is a TLS failure with the reason %s", async (name, alert, reason) => {
  await using origin = await openOrigin(() => undefined);
  origin.server.once("connection", (socket) => socket.write(Buffer.from([0x15, 3, 3, 0, 2, 2, alert])));
  const got = await ask(`https://lender.test:${origin.port}`);
  expect(got).toMatchObject({ ...NOT_SENT, reason });
  expect(got.kind === "failure" && describeFailure(got)).toContain(name.replaceAll("_", " "));
});

test("a request uses HTTP/1.1 with an origin that prefers HTTP/2", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), "tls");
  expect(await ask(`https://lender.test:${origin.port}`)).toMatchObject({ kind: "answer", status: 200 });
  expect(origin.requests[0]).toContain("HTTP/1.1\r\n");
});

test('an encrypted body that ends too early has the bodyCut "broken"', async () => {
  await using origin = await openOrigin((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", () => setTimeout(() => socket.destroy(), 20));
  }, "tls");
  const got = await ask(`https://lender.test:${origin.port}`);
  expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: "broken", body: Buffer.from("half") });
});

test.each<[what: string, greet: (socket: Socket) => unknown]>([
  ["answers in plain HTTP", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["closes after our ClientHello", (socket) => socket.once("data", () => socket.end())],
  ["answers with an alert", (socket) => socket.write(Buffer.from([0x15, 3, 3, 0, 2, 2, 40]))],
  ["answers with zeros", (socket) => socket.write("\0".repeat(100))],
  ["echoes our bytes", (socket) => socket.pipe(socket)],
  ["sends an endless ServerHello", (socket) => pour(socket, GREETING, "\0".repeat(16_384))],
])("a request to a port that %s is a TLS failure", async (_what, greet) => {
  await using origin = await openOrigin(() => undefined);
  origin.server.once("connection", greet);
  const got = await ask(`https://lender.test:${origin.port}`);
  expect(got).toMatchObject({ kind: "failure", code: "TLS", ownFault: false, requestSent: false });
});

test("a request to a port that resets the connection after our ClientHello is a CONNECT failure", async () => {
  await using origin = await openOrigin(() => undefined);
  origin.server.once("connection", (socket) => socket.once("data", () => socket.resetAndDestroy()));
  const got = await ask(`https://lender.test:${origin.port}`);
  expect(got).toMatchObject({ kind: "failure", code: "CONNECT", ownFault: false, requestSent: false });
});

test.concurrent.each<[what: string, greet: (socket: Socket) => unknown]>([
  ["gets no answer", () => undefined],
  ["is answered very slowly", (socket) => drip(socket, GREETING, "\0")],
])("a handshake that %s is a timeout", async (_what, greet) => {
  await using origin = await openOrigin(() => undefined);
  origin.server.once("connection", greet);
  const got = await ask(`https://lender.test:${origin.port}`, { timeoutMs: 200 });
  expect(got).toMatchObject({ kind: "failure", code: "TIMEOUT", ownFault: false, requestSent: false });
});

async function ask(url: string, request: Partial<OutboundRequest> = {}, options: OutboundOptions = {}) {
  const outbound = open(options);
  const got = await outbound.request({ method: "POST", url, body: "{}", timeoutMs: 300_000, ...request });
  await outbound.close();
  return got;
}

function open(options: OutboundOptions = {}) {
  const resolve = async () => LOOPBACK;
  return createOutbound({ allow: "lender.test:*", ca: selfSigned.cert, resolve, ...options });
}
