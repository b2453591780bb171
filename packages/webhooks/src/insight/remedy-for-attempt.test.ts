import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createOutbound, type OutboundAnswer, type OutboundOptions } from "@collections/outbound";
import { describe, expect, test } from "vitest";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";
import { type FailedAttemptFacts, remedyFor } from "./remedy-for-attempt.ts";

const URL_OF_LENDER = "https://acme.example/hooks";
const SENTENCES = expect.stringMatching(/^[A-Z].*\.$/) as string;
const WHOLE_SENTENCES = { cause: SENTENCES, remedy: SENTENCES };

function failed(errorCode: AttemptErrorCode, facts: Partial<FailedAttemptFacts> = {}): FailedAttemptFacts {
  return { errorCode, errorDetail: null, status: null, headers: null, url: URL_OF_LENDER, ...facts };
}

function redirect(location: string | undefined, facts: Partial<FailedAttemptFacts> = {}): FailedAttemptFacts {
  return failed("REDIRECT", { status: 302, headers: location === undefined ? {} : { location }, ...facts });
}

describe("a status", () => {
  test.each<[number, RegExp, RegExp]>([
    [400, /could not read/, /JSON in UTF-8/],
    [401, /signature/, /raw bytes/],
    [403, /firewall/, /PartnerCollections-Webhooks/],
    [404, /nothing at the path/, /registered URL/],
    [405, /no POST/, /POST/],
    [408, /waiting for the request/, /time/],
    [409, /contradicts/, /2xx to an event that you have/],
    [410, /gone for good/, /registered/],
    [411, /Content-Length/, /proxy/],
    [413, /too large/, /20 KB/],
    [415, /type of body/, /application\/json/],
    [421, /host name/, /DNS/],
    [422, /what the event says/, /2xx/],
    [426, /another protocol/, /HTTP\/1\.1/],
    [429, /more requests/, /Retry-After/],
    [431, /headers are too large/, /8 KB/],
    [496, /client certificate/, /signature/],
    [500, /failed while it worked/, /2xx first/],
    [501, /does not know the method POST/, /POST/],
    [502, /no proper answer/, /process runs/],
    [503, /maintenance/, /Retry-After/],
    [504, /gave up waiting/, /2xx first/],
    [525, /Cloudflare/, /certificate/],
    [418, /refused/, /log/],
    [599, /failed/, /logs/],
    [999, /does not have/, /200/],
  ])("of %i has a cause and a remedy", (status, cause, remedy) => {
    const said = remedyFor(failed("NON_2XX", { status, headers: {} }));
    expect(said.cause).toMatch(cause);
    expect(said.cause).toContain(`(${status}).`);
    expect(said.remedy).toMatch(remedy);
  });

  test("has whole sentences as cause and remedy", () => {
    for (let status = 400; status < 700; status += 1) {
      expect(remedyFor(failed("NON_2XX", { status }))).toEqual(WHOLE_SENTENCES);
    }
  });
});

describe("a redirect", () => {
  test.each<[location: string, shown: string, remedy: RegExp]>([
    ["https://www.acme.example/hooks/", "https://www.acme.example/hooks/", /^Register the final URL/],
    ["/hooks/", "https://acme.example/hooks/", /^Register the final URL/],
    ["//eu.acme.example", "https://eu.acme.example/", /^Register the final URL/],
    ["https://acme.example/login?next=%2Fhooks", "https://acme.example/login", /^Exempt the callback from your login/],
    ["https://id.acme.example/oauth2/authorize?state=s3cret", "https://id.acme.example/oauth2/authorize", /login/],
    ["http://acme.example/hooks", "http://acme.example/hooks", /^Answer 2xx at the registered URL/],
    ["https://me:s3cret@acme.example:8443/a?token=s3cret#s3cret", "https://acme.example:8443/a", /^Register/],
    ["https://acme.example/\u202Etxt\n<b>", "https://acme.example/%E2%80%AEtxt%3Cb%3E", /^Register/],
  ])("to %j is explained with the URL that it leads to", (location, shown, remedy) => {
    const said = remedyFor(redirect(location));
    expect(said.cause).toBe(`Your server redirected to ${shown} (302). Redirects are not followed.`);
    expect(said.remedy).toMatch(remedy);
    expect(JSON.stringify(said)).not.toMatch(/s3cret|\p{Cc}|\u202E/u);
  });

  test.each([undefined, "", "javascript:alert(1)", "https://", "mailto:ops@acme.example"])(
    "with the Location %j is explained as a redirect without a readable Location",
    (location) => {
      // For an empty Location, the callback's URL is left out. With a URL, the empty Location would resolve to that
      // URL, and would be readable.
      const said = remedyFor(redirect(location, location === "" ? { url: null } : {}));
      expect(said.cause).toBe("Your server redirected (302) without a Location that can be read.");
    },
  );

  test("to a very long URL is explained with a shortened URL", () => {
    const { cause } = remedyFor(redirect(`/${"x".repeat(5_000)}`));
    expect(cause).toContain(` https://acme.example/${"x".repeat(179)}… `);
  });

  test("to an http URL is accepted if the callback URL is http too", () => {
    const { remedy } = remedyFor(redirect("/b", { url: "http://127.0.0.1:4000/a" }));
    expect(remedy).toMatch(/^Register the final URL, which is http:\/\/127\.0\.0\.1:4000\/b /);
  });

  test("from an unknown callback to a relative Location is explained as a redirect without a readable Location", () => {
    expect(remedyFor(redirect("/b", { url: null })).cause).toMatch(/without a Location that can be read/);
  });

  test("with status 304 is explained as not modified", () => {
    expect(remedyFor(redirect(undefined, { status: 304 })).cause).toMatch(/304 \(not modified\)/);
  });
});

describe("an attempt without an answer", () => {
  test.each<[AttemptErrorCode, string, RegExp]>([
    ["TIMEOUT", "No connection was made within 10000 ms.", /did not take the connection/],
    ["TIMEOUT", "No connection could be made in time.", /did not take the connection/],
    ["TIMEOUT", "No answer came within 10000 ms.", /sent no status line/],
    ["DNS", "The host's name has no address in the DNS (ENOTFOUND).", /no address in the public DNS/],
    ["DNS", "The DNS servers of the host's domain failed (ESERVFAIL).", /DNS servers of your domain/],
    ["DNS", "Our own DNS server did not answer (EAI_AGAIN).", /on our side/],
    ["CONNECT", "Our own network failed (ENETUNREACH).", /on our side/],
    ["CONNECT", "The server refused the connection (ECONNREFUSED).", /Nothing listens/],
    ["CONNECT", "The server reset the connection before it answered (ECONNRESET).", /closed the connection/],
    ["CONNECT", "The server closed the connection before it answered (UND_ERR_SOCKET).", /closed the connection/],
    ["CONNECT", "The server's network could not be reached (EHOSTUNREACH).", /network of your server/],
    ["CONNECT", "The server's answer was not valid HTTP.", /no valid HTTP/],
    ["CONNECT", "The server's answer had more than 16 KiB of headers (UND_ERR_HEADERS_OVERFLOW).", /16 KiB/],
    ["CONNECT", "The connection failed (unknown).", /^The connection to your server failed/],
    ["TLS", "The server's certificate has expired (CERT_HAS_EXPIRED).", /expired/],
    ["TLS", "The server's certificate is not valid yet (CERT_NOT_YET_VALID).", /not valid yet/],
    ["TLS", "The server's certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).", /self-signed/],
    ["TLS", "… is for another host (ERR_TLS_CERT_ALTNAME_INVALID).", /another host name/],
    ["TLS", "… (SELF_SIGNED_CERT_IN_CHAIN).", /not publicly trusted/],
    ["TLS", "… (UNABLE_TO_GET_ISSUER_CERT_LOCALLY).", /not publicly trusted/],
    ["TLS", "… (UNABLE_TO_VERIFY_LEAF_SIGNATURE).", /intermediate certificates/],
    ["TLS", "… (EE_KEY_TOO_SMALL: EE certificate key too weak).", /key that is too weak/],
    ["TLS", "… (CA_MD_TOO_WEAK: CA signature digest algorithm too weak).", /SHA-1/],
    ["TLS", "… (PERMITTED_VIOLATION: permitted subtree violation).", /name constraints/],
    ["TLS", "… (PATH_LENGTH_EXCEEDED: path length constraint exceeded).", /may not sign/],
    ["TLS", "… (INVALID_PURPOSE: unsuitable certificate purpose).", /not meant for servers/],
    ["TLS", "… (CERT_REVOKED: certificate revoked).", /revoked/],
    ["TLS", "… (UNSPECIFIED: unhandled critical extension).", /rejected/],
    ["TLS", "The server requires a client certificate (ECONNRESET).", /client certificate/],
    ["TLS", "… (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: tlsv1 alert protocol version).", /neither TLS 1\.2/],
    ["TLS", "… (ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE: ssl/tls alert handshake failure).", /ciphers/],
    ["TLS", "… (ERR_SSL_TLSV1_UNRECOGNIZED_NAME: tlsv1 unrecognized name).", /SNI/],
    ["TLS", "… (ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: tlsv1 alert no application protocol).", /ALPN/],
    ["TLS", "No secure connection could be agreed (ERR_SSL_WRONG_VERSION_NUMBER).", /does not speak TLS/],
    ["TLS", "No secure connection could be agreed (EPROTO).", /No TLS connection/],
    ["BLOCKED_ADDRESS", "The host's name resolves to an address that is not public.", /not public/],
  ])("with the error code %s is explained: %s", (errorCode, errorDetail, cause) => {
    const said = remedyFor(failed(errorCode, { errorDetail }));
    expect(said.cause).toMatch(cause);
    expect(said).toEqual(WHOLE_SENTENCES);
  });

  test.each<AttemptErrorCode>(["TIMEOUT", "DNS", "CONNECT", "TLS", "NON_2XX", "REDIRECT", "BLOCKED_ADDRESS"])(
    "has a cause and a remedy even if only its code %s is known",
    (errorCode) => {
      expect(remedyFor(failed(errorCode, { url: null }))).toEqual(WHOLE_SENTENCES);
    },
  );
});

describe("the cause of a real request's failure", () => {
  test.each<[what: string, errno: string, cause: RegExp]>([
    ["a silent DNS server", "EAI_AGAIN", /on our side/],
    ["an unknown name", "ENOTFOUND", /no address in the public DNS/],
    ["a broken zone", "ESERVFAIL", /DNS servers of your domain/],
  ])("is found for %s", async (_what, errno, cause) => {
    const resolve = () => Promise.reject(Object.assign(new Error(errno), { code: errno }));
    expect(remedyFor(await failureOf("https://acme.example/", { resolve })).cause).toMatch(cause);
  });

  test("is found for a private address, for http, and for a closed port", async () => {
    expect(remedyFor(await failureOf("https://10.0.0.1/")).cause).toMatch(/not public/);
    expect(remedyFor(await failureOf("http://acme.example/")).cause).toMatch(/not an https URL/);
    expect(remedyFor(await failureOf("https://127.0.0.1:1/", { allow: "127.0.0.1:*" })).cause).toMatch(/Nothing/);
  });

  test("is found for a port without TLS, and for a port without HTTP", async () => {
    await using port = await portThatSays("SSH-2.0-OpenSSH_9.2\r\n");
    const allow = "127.0.0.1:*";
    const withTls = remedyFor(await failureOf(`https://127.0.0.1:${port.number}/`, { allow }));
    expect(withTls.cause).toBe("The port of the callback URL does not speak TLS.");
    const plain = remedyFor(await failureOf(`http://127.0.0.1:${port.number}/`, { allow }));
    expect(plain.cause).toBe("Your server sent no valid HTTP/1.1 answer.");
  });

  test("is found for a server that does not answer", async () => {
    await using port = await portThatSays("");
    const silent = await failureOf(`http://127.0.0.1:${port.number}/`, { allow: "127.0.0.1:*" });
    expect(remedyFor(silent).cause).toMatch(/sent no status line/);
  });
});

async function failureOf(url: string, options: OutboundOptions = {}): Promise<FailedAttemptFacts> {
  const outbound = createOutbound(options);
  const answer: OutboundAnswer = await outbound.request({ method: "POST", url, body: "{}", timeoutMs: 300 });
  await outbound.close({ graceMs: 0 });
  if (answer.kind === "answer") throw new Error(`${url} answered ${answer.status}.`);
  return failed(answer.code as AttemptErrorCode, { errorReason: answer.reason, url });
}

async function portThatSays(greeting: string): Promise<AsyncDisposable & { number: number }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    if (greeting !== "") socket.end(greeting);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    number: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
