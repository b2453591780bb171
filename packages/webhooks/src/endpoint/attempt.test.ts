import { randomBytes } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { createOutbound } from "@collections/outbound";
import { newId, publicId } from "@collections/database";
import { checkTimestamp, signingKey, verify, verifyWebhook, WebhookNotVerifiedError } from "@collections/signing";
import { Webhook } from "standardwebhooks";
import { afterAll, describe, expect, test } from "vitest";
import { type AttemptToMake, makeAttempt, type WebhookBrand, type WebhookSender } from "./attempt.ts";
import type { WebhookKey } from "./webhook-key.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { KEY_ID, SECRET } from "../../tests/trial.ts";

const outbound = createOutbound({ allow: "127.0.0.1:*" });
afterAll(() => outbound.close());

const sender: WebhookSender = {
  outbound,
  signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }),
  timeoutMs: 300_000,
  now: () => new Date(),
};
const body = '{ "eventId":"evt_1","loan":"LN-1","sequence":1,  "note":"₹" }';

describe("the request of an attempt", () => {
  test("has the contract's headers and exactly the event's bytes", async () => {
    await using receiver = await openReceiver();
    const toMake = attemptTo(receiver.url);
    const { outcome, request } = await makeAttempt(sender, { ...toMake, number: 3 });
    const [received] = receiver.received;
    expect(outcome).toBe("delivered");
    expect(received?.body).toBe(body);
    expect(received?.headers).toMatchObject({
      "content-type": "application/json",
      "x-service-event": "payment.collected",
      "x-service-delivery": publicId("evt", toMake.eventId),
      "x-service-attempt": "3",
      "x-service-key-id": KEY_ID,
      "x-service-timestamp": expect.stringMatching(/^\d{13}$/),
      "x-service-signature": expect.stringMatching(/^[0-9a-f]{64}$/),
      "user-agent": "Webhooks/1.0",
    });
    expect(received?.headers).not.toHaveProperty("x-service-replay");
    expect(request).toMatchObject({ url: receiver.url, body });
  });

  test("has the X-Service-Replay header if it is a replay", async () => {
    await using receiver = await openReceiver();
    await makeAttempt(sender, { ...attemptTo(receiver.url), replay: true });
    expect(receiver.received[0]?.headers["x-service-replay"]).toBe("true");
  });

  test.each(["/", "/hooks/collections", "/a%2Fb/%7Eme?tenant=7&x=%20", "//double", "/sp%C3%A9cial/"])(
    "is signed over the path that the receiver sees, without the query: %s",
    async (path) => {
      await using receiver = await openReceiver(undefined, path);
      await makeAttempt(sender, attemptTo(receiver.url));
      const { path: seen, headers, body } = receiver.received[0]!;
      const timestamp = String(headers["x-service-timestamp"]);
      const signature = String(headers["x-service-signature"]);
      expect(seen).toBe(path);
      expect(checkTimestamp(timestamp, Date.now())).toMatchObject({ ok: true });
      expect(verify({ method: "POST", path: seen, timestamp, body, secret: SECRET, signature })).toBe(true);
    },
  );
});

describe("the headers of Standard Webhooks", () => {
  const BYTES = randomBytes(24);
  const OLD = randomBytes(32).toString("hex");

  async function received(key: WebhookKey, brand: WebhookBrand = { standardHeaders: true }) {
    await using receiver = await openReceiver();
    await makeAttempt({ ...sender, ...brand, signingKeyOf: () => key }, attemptTo(receiver.url));
    return receiver.received[0]!;
  }

  test.each<[string, WebhookKey["secret"], string]>([
    ["text", SECRET, Buffer.from(SECRET).toString("base64")],
    ["prepared secret", signingKey(SECRET), Buffer.from(SECRET).toString("base64")],
    ["secret in their own form", `whsec_${BYTES.toString("base64")}`, BYTES.toString("base64")],
  ])("are verified by the receivers' library with a %s", async (_, secret, base64) => {
    const { body: sent, headers } = await received({ keyId: KEY_ID, secret });
    expect(new Webhook(base64).verify(sent, headers as Record<string, string>)).toEqual(JSON.parse(body));
    expect(headers["webhook-id"]).toBe(headers["x-service-delivery"]);
    expect(() => new Webhook(base64).verify(`${sent} `, headers as Record<string, string>)).toThrow("signature");
  });

  test("have a signature of each key while one retires", async () => {
    const { body: sent, headers } = await received({
      keyId: KEY_ID,
      secret: SECRET,
      retiring: { keyId: "wk_old", secret: OLD },
    });
    for (const secret of [SECRET, OLD]) {
      const library = new Webhook(Buffer.from(secret).toString("base64"));
      expect(library.verify(sent, headers as Record<string, string>)).toEqual(JSON.parse(body));
    }
  });

  test("are not sent unless the host wants them", async () => {
    const { headers } = await received({ keyId: KEY_ID, secret: SECRET }, {});
    expect(Object.keys(headers).filter((name) => name.startsWith("webhook-"))).toEqual([]);
  });
});

describe("a receiver that calls verifyWebhook", () => {
  const OLD = randomBytes(32).toString("hex");

  test.each([
    ["the own headers", {}, false],
    ["the own headers with the host's prefix", { headerPrefix: "X-Acme-" }, false],
    ["the headers of Standard Webhooks", { standardHeaders: true }, true],
  ])("verifies %s with the old and with the new secret", async (_, brand: WebhookBrand, isIdSigned) => {
    await using receiver = await openReceiver(undefined, "/hooks?tenant=7");
    const signingKeyOf = () => ({ keyId: KEY_ID, secret: SECRET, retiring: { keyId: "wk_old", secret: OLD } });
    const toMake = attemptTo(receiver.url);
    await makeAttempt({ ...sender, ...brand, signingKeyOf }, toMake);
    const [request] = receiver.received;
    for (const secret of [SECRET, OLD]) {
      const verified = verifyWebhook(request!, { secret, headerPrefix: brand.headerPrefix });
      expect(verified).toMatchObject({ eventId: publicId("evt", toMake.eventId), isIdSigned });
    }
    const forged = { ...request!, body: `${request!.body} ` };
    const verifyForged = () => verifyWebhook(forged, { secret: [SECRET, OLD], headerPrefix: brand.headerPrefix });
    expect(verifyForged).toThrow(WebhookNotVerifiedError);
  });
});

describe("a key that retires", () => {
  test("signs beside the new one, under its own id", async () => {
    await using receiver = await openReceiver();
    const retiring = { keyId: "wk_old", secret: randomBytes(32).toString("hex") };
    const signingKeyOf = () => ({ keyId: KEY_ID, secret: SECRET, retiring });
    await makeAttempt({ ...sender, headerPrefix: "X-Acme-", signingKeyOf }, attemptTo(receiver.url));
    const { path, headers, body: sent } = receiver.received[0]!;
    const request = { method: "POST", path, timestamp: String(headers["x-acme-timestamp"]), body: sent };
    const of = (secret: string, name: string) => verify({ ...request, secret, signature: String(headers[name]) });
    expect(headers).toMatchObject({ "x-acme-key-id": KEY_ID, "x-acme-retiring-key-id": "wk_old" });
    expect(of(SECRET, "x-acme-signature")).toBe(true);
    expect(of(retiring.secret, "x-acme-retiring-signature")).toBe(true);
  });

  test("is checked as the new one is, before a request is sent", async () => {
    await using receiver = await openReceiver();
    const signingKeyOf = () => ({ keyId: KEY_ID, secret: SECRET, retiring: { keyId: "wk_old", secret: "short" } });
    const attempt = makeAttempt({ ...sender, signingKeyOf }, attemptTo(receiver.url));
    await expect(attempt).rejects.toMatchObject({ code: "SECRET_TOO_SHORT" });
    expect(receiver.received).toEqual([]);
  });
});

describe("makeAttempt returns delivered", () => {
  test.each([200, 202, 204, 299])("for a status of %i", async (status) => {
    await using receiver = await openReceiver((response) => response.writeHead(status).end());
    expect(await makeAttempt(sender, attemptTo(receiver.url))).toMatchObject({ outcome: "delivered", error: null });
  });

  test("for a 2xx status line in time, even if the body never ends", async () => {
    await using receiver = await openReceiver((response) => {
      response.writeHead(200);
      response.write("half of ");
    });
    let result = await makeAttempt({ ...sender, timeoutMs: 300 }, attemptTo(receiver.url));
    // On a busy machine, the status line may be late. Then an attempt with more time follows.
    for (let timeoutMs = 1_200; result.error?.code === "TIMEOUT" && timeoutMs < 100_000; timeoutMs *= 4) {
      result = await makeAttempt({ ...sender, timeoutMs }, attemptTo(receiver.url));
    }
    expect(result.outcome).toBe("delivered");
    expect(result.answer?.body).toBe("half of ");
  });

  test("for a 2xx with a huge body, and keeps only the first 2 KB of the body", async () => {
    await using receiver = await openReceiver((response) => response.writeHead(200).end("₹".repeat(100_000)));
    const { outcome, answer } = await makeAttempt(sender, attemptTo(receiver.url));
    expect(outcome).toBe("delivered");
    expect(answer?.body).toBe("₹".repeat(682));
  });
});

describe("an attempt that delivers nothing", () => {
  test.each([
    [302, "REDIRECT", /not followed/],
    [304, "REDIRECT", /not followed/],
    [400, "NON_2XX", /answered 400/],
    [410, "NON_2XX", /answered 410/],
    [503, "NON_2XX", /answered 503/],
  ])("to a receiver that answers %i fails with %s", async (status, code, detail) => {
    await using receiver = await openReceiver((response) => response.writeHead(status, { Location: "/x" }).end("no"));
    const result = await makeAttempt(sender, attemptTo(receiver.url));
    expect(result).toMatchObject({ outcome: "failed", error: { code, detail: expect.stringMatching(detail) } });
    expect(result.answer).toMatchObject({ status });
    expect(receiver.received).toHaveLength(1);
  });

  test("decodes a compressed answer for the log", async () => {
    await using receiver = await openReceiver((response) =>
      response.writeHead(500, { "Content-Encoding": "gzip" }).end(gzipSync("out of memory")),
    );
    const { answer } = await makeAttempt(sender, attemptTo(receiver.url));
    expect(answer).toMatchObject({ status: 500, body: "out of memory" });
    expect(receiver.received[0]?.headers).toMatchObject({ accept: "application/json", "accept-encoding": "identity" });
  });

  test("names the coding of an answer that cannot be decoded", async () => {
    await using receiver = await openReceiver((response) =>
      response.writeHead(500, { "Content-Encoding": "zstd" }).end("(bytes"),
    );
    const { error, answer } = await makeAttempt(sender, attemptTo(receiver.url));
    expect(error?.detail).toMatch(/has the coding zstd/);
    expect(answer?.body).toBe("");
  });

  test("to a receiver that does not answer fails with TIMEOUT", async () => {
    await using receiver = await openReceiver(() => {});
    expect(await makeAttempt({ ...sender, timeoutMs: 300 }, attemptTo(receiver.url))).toMatchObject({
      outcome: "failed",
      answer: null,
      error: { code: "TIMEOUT", detail: expect.stringContaining("300 ms") },
      ownFault: false,
    });
  });

  test("to a closed port fails with CONNECT", async () => {
    const receiver = await openReceiver();
    await receiver[Symbol.asyncDispose]();
    const { outcome, error } = await makeAttempt(sender, attemptTo(receiver.url));
    expect({ outcome, code: error?.code }).toEqual({ outcome: "failed", code: "CONNECT" });
  });

  test("to a receiver that does not speak TLS fails with TLS", async () => {
    await using receiver = await openReceiver();
    const { error } = await makeAttempt(sender, attemptTo(receiver.url.replace("http:", "https:")));
    expect(error?.code).toBe("TLS");
  });

  test.each(["https://10.0.0.1/hooks", "http://example.com/hooks", "https://[::1]/", "not a url"])(
    "to %s fails with BLOCKED_ADDRESS",
    async (url) => {
      const { outcome, error } = await makeAttempt(sender, attemptTo(url));
      expect({ outcome, code: error?.code }).toEqual({ outcome: "failed", code: "BLOCKED_ADDRESS" });
    },
  );

  test("returns an answer with invalid UTF-8 and NUL as text that PostgreSQL can store", async () => {
    const port = await serveRaw("HTTP/1.1 500 No\r\nContent-Length: 5\r\nX-Odd: \xff\xfe\r\n\r\na\0\xffb\xc3");
    const { answer } = await makeAttempt(sender, attemptTo(`http://127.0.0.1:${port}/`));
    expect(answer).toMatchObject({ status: 500, body: "a\uFFFD\uFFFDb\uFFFD" });
    expect(JSON.stringify(answer?.headers).isWellFormed()).toBe(true);
  });

  test("is abandoned if it is aborted, and is not a failure of the receiver", async () => {
    await using receiver = await openReceiver(() => {});
    const giveUp = new AbortController();
    const attempt = makeAttempt(sender, { ...attemptTo(receiver.url), signal: giveUp.signal });
    await receiver.arrived(1);
    giveUp.abort();
    expect(await attempt).toMatchObject({ outcome: "abandoned", error: null });
  });
});

function attemptTo(url: string): AttemptToMake {
  return { tenantId: newId(), url, eventId: newId(), kind: "payment.collected", number: 1, body };
}

async function serveRaw(answer: string): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("data", () => socket.write(Buffer.from(answer, "latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
