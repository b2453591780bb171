import { createHmac, randomUUID } from "node:crypto";
import type { FakeWhatsApp } from "@collections/lender-twin";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type StartedVisit, type VisitSetup, visitSetup, whatsappSetup } from "../fixtures/visit-setup.ts";
import { answerTo } from "../fixtures/raw-socket.ts";
import type { TestService } from "../fixtures/fixture.ts";

const APP_SECRET = "0123456789abcdef0123456789abcdef";
const VERIFY_TOKEN = "verify-me-please";

let service: TestService;
let whatsapp: FakeWhatsApp;
let setup: VisitSetup;
let url: string;

beforeAll(async () => {
  const secrets = { whatsappAppSecret: APP_SECRET, whatsappVerifyToken: VERIFY_TOKEN };
  ({ whatsapp, service, setup } = await whatsappSetup(secrets));
  url = `${service.url}/webhooks/whatsapp/${setup.lender.code}`;
  await whatsapp.registerCallback({ url, appSecret: APP_SECRET, verifyToken: VERIFY_TOKEN });
});

beforeEach(() => {
  whatsapp.behaviour = "ok";
  whatsapp.journey = [];
});

/** Returns a link that was sent by WhatsApp and whose message has no delivery report yet. */
async function aSentLink(fields = {}): Promise<StartedVisit & { id: string; messageId: string }> {
  const visit = await setup.visit(fields);
  const { paymentLink } = await setup.request(visit.visitId, { channels: ["WHATSAPP"] });
  await expect.poll(() => statusOf(paymentLink.id)).toBe("SENT");
  const { url: linkUrl } = await setup.link(paymentLink.id);
  const messageId = whatsapp.messages.find(({ parameters }) => parameters.includes(linkUrl))!.id;
  return { ...visit, id: paymentLink.id, messageId };
}

async function statusOf(linkId: string): Promise<string | undefined> {
  return (await setup.link(linkId)).deliveries[0]?.status;
}

async function kindsOf(loan: string): Promise<string[]> {
  const events = await setup.lender.waitForEvents((all) =>
    all.some(({ sourceLoanNumber }) => sourceLoanNumber === loan),
  );
  return events.filter(({ sourceLoanNumber }) => sourceLoanNumber === loan).map(({ kind }) => kind);
}

describe("a WhatsApp message with a payment link", () => {
  test("is shown to the field partner as sent, delivered and read, and the lender gets one event", async () => {
    whatsapp.journey = ["sent", "delivered", "read"];
    const { loan, visitId } = await setup.visit();
    const { paymentLink } = await setup.request(visitId, { channels: ["WHATSAPP"] });
    const watch = `subscription ($id: ID!) { paymentLinkUpdated(id: $id) { deliveries { status } } }`;
    const seen: string[] = [];
    for await (const { data } of setup.app.watch(watch, { id: paymentLink.id })) {
      seen.push(data!["paymentLinkUpdated"].deliveries[0]?.status);
      if (seen.at(-1) === "READ") break;
    }
    expect(seen).toEqual(expect.arrayContaining(["SENT", "READ"]));
    await expect.poll(() => kindsOf(loan)).toContain("payment_link.delivered");
    expect((await kindsOf(loan)).filter((kind) => kind.startsWith("payment_link.d"))).toHaveLength(1);
  });

  test("keeps its furthest status when reports arrive out of order, twice, or many in one call", async () => {
    const [one, other] = [await aSentLink(), await aSentLink()];
    expect(await whatsapp.report([{ id: one.messageId, status: "read" }])).toBe(200);
    expect(await statusOf(one.id)).toBe("READ");
    const jumble = [
      { id: one.messageId, status: "delivered" as const },
      { id: "wamid.of-somebody-else", status: "read" as const },
      { id: other.messageId, status: "delivered" as const },
      { id: other.messageId, status: "sent" as const },
      { id: one.messageId, status: "failed" as const },
    ];
    expect(await Promise.all([whatsapp.report(jumble), whatsapp.report(jumble), whatsapp.report(jumble)])).toEqual([
      200, 200, 200,
    ]);
    expect([await statusOf(one.id), await statusOf(other.id)]).toEqual(["READ", "DELIVERED"]);
  });

  test("that fails later is reported to the lender as undelivered once, and the field partner sees why", async () => {
    const { loan, id, messageId } = await aSentLink();
    const failed = [{ id: messageId, status: "failed" as const, errorCode: 131_026 }];
    await Promise.all([whatsapp.report(failed), whatsapp.report(failed)]);
    expect((await setup.link(id)).deliveries).toEqual([
      { channel: "WHATSAPP", status: "FAILED", failureCode: "UNDELIVERABLE" },
    ]);
    await expect.poll(() => kindsOf(loan)).toContain("payment_link.undelivered");
    expect((await kindsOf(loan)).filter((kind) => kind.startsWith("payment_link."))).toEqual([
      "payment_link.created",
      "payment_link.delivered",
      "payment_link.undelivered",
    ]);
    // A later report that the message was read replaces the failure.
    expect(await whatsapp.report([{ id: messageId, status: "read" }])).toBe(200);
    expect((await setup.link(id)).deliveries).toEqual([{ channel: "WHATSAPP", status: "READ", failureCode: null }]);
  });

  test("whose request got a 502 is not sent again: its outcome is unknown until the first delivery report", async () => {
    const visit = await setup.visit();
    whatsapp.behaviour = "edge502";
    const { paymentLink } = await setup.request(visit.visitId, { channels: ["WHATSAPP"] });
    await expect.poll(() => statusOf(paymentLink.id)).toBe("FAILED");
    const { url: linkUrl, deliveries } = await setup.link(paymentLink.id);
    expect(deliveries).toEqual([{ channel: "WHATSAPP", status: "FAILED", failureCode: "OUTCOME_UNKNOWN" }]);
    const messages = whatsapp.messages.filter(({ parameters }) => parameters.includes(linkUrl));
    expect(messages).toHaveLength(1);

    const { id, callbackData } = messages[0]!;
    expect(await whatsapp.report([{ id: "wamid.other", status: "sent", callbackData: randomUUID() }])).toBe(200);
    expect(await whatsapp.report([{ id, status: "sent", callbackData }])).toBe(200);
    expect((await setup.link(paymentLink.id)).deliveries).toEqual([
      { channel: "WHATSAPP", status: "SENT", failureCode: null },
    ]);
    expect(await whatsapp.report([{ id, status: "read" }])).toBe(200);
    expect(await statusOf(paymentLink.id)).toBe("READ");
    await expect.poll(() => kindsOf(visit.loan)).toContain("payment_link.delivered");
  });

  test("takes a status that is reported before WhatsApp has answered the request", async () => {
    whatsapp.journey = ["delivered"];
    whatsapp.statusAfterMs = 0;
    const links = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { visitId } = await setup.visit();
        return (await setup.request(visitId, { channels: ["WHATSAPP"] })).paymentLink.id as string;
      }),
    );
    for (const id of links) await expect.poll(() => statusOf(id)).toBe("DELIVERED");
    whatsapp.statusAfterMs = 50;
  });
});

describe("a call of the WhatsApp callback", () => {
  test.each([
    ["without a signature", undefined, undefined],
    ["with a wrong signature", `sha256=${"0".repeat(64)}`, undefined],
    ["with another app's signature", "of another secret", undefined],
    ["for an unknown lender", "right", "NOBODY"],
    ["for an invalid lender code", "right", "x';drop"],
  ])("%s gets the same 401 and changes nothing", async (_, signature, lenderCode) => {
    const { id, messageId } = await aSentLink();
    const body = JSON.stringify(statusReport(messageId, "read"));
    const sign = (secret: string) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
    const header = { right: sign(APP_SECRET), "of another secret": sign("another secret of an app") }[signature ?? ""];
    const response = await post(body, header ?? signature, lenderCode);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 401,
      body: expect.objectContaining({
        code: "BAD_SIGNATURE",
        detail: "The call has no valid signature or token of the lender's registered app.",
      }) as unknown,
    });
    expect(await statusOf(id)).toBe("SENT");
  });

  test("with a valid signature gets 200, however odd its body is", async () => {
    const odd = ["", "{", "null", "[]", '{"entry":7}', '{"entry":[{"changes":[{"value":{"statuses":[null,{}]}}]}]}'];
    odd.push("[".repeat(100_000), JSON.stringify(statusReport("x".repeat(600), "read")), '{"__proto__":{"entry":[]}}');
    odd.push(
      JSON.stringify(statusReport("wamid.\u0000", "read")),
      JSON.stringify(statusReport("wamid.\ud800", "read")),
    );
    for (const body of odd) expect((await postSigned(body)).status).toBe(200);
    expect((await postSigned(Buffer.from([0xff, 0xfe, 0x00]))).status).toBe(200);
    const many = { entry: Array.from({ length: 2_000 }, (_, n) => statusReport(`wamid.${n}`, "sent").entry[0]) };
    expect((await postSigned(JSON.stringify(many))).status).toBe(200);
  });

  test.each([
    ["without a signature", ""],
    ["with a malformed signature", "X-Hub-Signature-256: sha256=abc\r\n"],
    ["with a SHA-1 signature", `X-Hub-Signature-256: sha1=${"0".repeat(40)}\r\n`],
  ])("%s is rejected before any of its body is read", async (_, header) => {
    const path = new URL(urlOf()).pathname;
    const length = 3 * 1_024 * 1_024;
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${length}\r\n\r\n`;
    const answer = await answerTo(service.url, head);
    expect(answer).toMatchObject({ status: 401, body: { code: "BAD_SIGNATURE" } });
  });

  test("of more than 3 MiB, or with another method, is rejected", async () => {
    const large = await postSigned(" ".repeat(3 * 1_024 * 1_024 + 1));
    expect(large.status).toBe(413);
    const put = await fetch(url, { method: "PUT" });
    expect([put.status, put.headers.get("allow")]).toEqual([405, "GET, POST"]);
  });
});

describe("the handshake of the WhatsApp callback", () => {
  const handshake = { "hub.mode": "subscribe", "hub.challenge": "1158201444", "hub.verify_token": VERIFY_TOKEN };

  test("returns the challenge to a caller that knows the verify token", async () => {
    const response = await fetch(`${url}?${new URLSearchParams(handshake)}`);
    expect([response.status, await response.text()]).toEqual([200, "1158201444"]);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
  });

  test.each([
    ["another token", { ...handshake, "hub.verify_token": "guess-guess" }, undefined],
    ["no token", { "hub.mode": "subscribe", "hub.challenge": "1" }, undefined],
    ["another mode", { ...handshake, "hub.mode": "unsubscribe" }, undefined],
    ["an unknown lender", handshake, "NOBODY"],
  ])("with %s is rejected", async (_, query, lenderCode) => {
    const response = await fetch(`${urlOf(lenderCode)}?${new URLSearchParams(query)}`);
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain("1158201444");
  });

  test("of a lender without a registered app is rejected, even with an empty token", async () => {
    const bare = await visitSetup(service);
    const empty = new URLSearchParams({ ...handshake, "hub.verify_token": "" });
    expect((await fetch(`${urlOf(bare.lender.code)}?${empty}`)).status).toBe(401);
    const signature = createHmac("sha256", "").update("{}").digest("hex");
    expect((await post("{}", `sha256=${signature}`, bare.lender.code)).status).toBe(401);
  });
});

function statusReport(id: string, status: string) {
  return { object: "whatsapp_business_account", entry: [{ changes: [{ value: { statuses: [{ id, status }] } }] }] };
}

function postSigned(body: string | Buffer): Promise<Response> {
  return post(body, `sha256=${createHmac("sha256", APP_SECRET).update(body).digest("hex")}`);
}

function post(body: string | Buffer, signature?: string, lenderCode?: string): Promise<Response> {
  const headers = { "Content-Type": "application/json", ...(signature && { "X-Hub-Signature-256": signature }) };
  return fetch(urlOf(lenderCode), { method: "POST", headers, body: new Uint8Array(Buffer.from(body)) });
}

function urlOf(lenderCode = setup.lender.code): string {
  return `${service.url}/webhooks/whatsapp/${encodeURIComponent(lenderCode)}`;
}
