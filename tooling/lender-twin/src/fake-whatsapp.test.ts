import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startFakeWhatsApp, type FakeWhatsApp } from "./fake-whatsapp.ts";

const PATH = "/v23.0/1055501/messages";

let whatsApp: FakeWhatsApp;

beforeEach(async () => {
  whatsApp = await startFakeWhatsApp({ token: "EAAG-token", phoneNumberId: "1055501" });
});

afterEach(() => whatsApp.close());

describe("a template message", () => {
  test.each([PATH, "/1055501/messages"])("posted to %s is accepted and recorded", async (path) => {
    const response = await send(message(), { path });
    expect(response.status).toBe(200);
    const [shown] = await whatsApp.waitForMessages((messages) => messages.length === 1);
    expect(await response.json()).toEqual({
      messaging_product: "whatsapp",
      contacts: [{ input: "+919800000001", wa_id: "919800000001" }],
      messages: [{ id: shown?.id, message_status: "accepted" }],
    });
    expect(shown).toMatchObject({
      id: expect.stringMatching(/^wamid\./),
      to: "+919800000001",
      template: "payment_link",
      language: "en_IN",
      parameters: ["Asha Rao", "https://pay.example/1"],
    });
  });

  test.each<[string, object, number]>([
    ["no recipient", { to: undefined }, 131008],
    ["a recipient that is not a phone number", { to: "asha@example.com" }, 131009],
    ["another product", { messaging_product: "sms" }, 131009],
    ["a text instead of a template", { type: "text" }, 131009],
    ["a field that does not exist", { preview_url: true }, 100],
    ["a template without a language", { template: { ...template(), language: undefined } }, 131008],
    ["a language as a text", { template: { ...template(), language: "en" } }, 131009],
    ["a language tag with a hyphen", { template: { ...template(), language: { code: "en-IN" } } }, 131009],
    ["a template name with capitals", { template: { ...template(), name: "Payment" } }, 131009],
    ["a button", { template: { ...template(), components: [{ type: "button", parameters: [] }] } }, 131009],
    ["a parameter that is empty", withParameter({ type: "text", text: "" }), 131009],
    ["a parameter with a line break", withParameter({ type: "text", text: "a\nb" }), 131009],
    ["a parameter that is a number", withParameter({ type: "text", text: 5 }), 131009],
    ["a parameter that is a bare text", withParameter("Asha"), 100],
    ["a recipient type that does not exist", { recipient_type: "crowd" }, 131009],
  ])("with %s is rejected with Meta's error code", async (_fault, change, code) => {
    const response = await send({ ...message(), ...change });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        code,
        type: "OAuthException",
        message: expect.stringContaining(String(code)),
        fbtrace_id: expect.anything(),
      },
    });
    expect(whatsApp.messages).toHaveLength(0);
    expect(whatsApp.refusals).toHaveLength(1);
  });

  test.each<[string, Sending, number, number]>([
    ["no token", { headers: { Authorization: "" } }, 401, 190],
    ["another token", { headers: { Authorization: "Bearer other" } }, 401, 190],
    ["another phone number id", { path: "/v23.0/999/messages" }, 400, 100],
    ["another path", { path: "/v23.0/1055501/marketing" }, 400, 100],
    ["another content type", { headers: { "Content-Type": "text/plain" } }, 400, 100],
    ["a method that is not POST", { method: "PUT" }, 400, 100],
  ])("with %s is rejected", async (_fault, sending, status, code) => {
    const response = await send(message(), sending);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });
});

test.each([
  ["invalidToken", 401, 190],
  ["rateLimited", 429, 130_429],
  ["error500", 500, 131_000],
  ["undeliverable", 400, 131_026],
] as const)("with behaviour %s the server answers %i with code %i", async (behaviour, status, code) => {
  whatsApp.behaviour = behaviour;
  const response = await send(message());
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { code } });
  expect(whatsApp.messages).toHaveLength(0);
});

test("with behaviour hang the server never answers", async () => {
  whatsApp.behaviour = "hang";
  await expect(send(message(), { signal: AbortSignal.timeout(50) })).rejects.toThrow("timeout");
});

test("waitForMessages fails with the rejected requests in its message", async () => {
  await send({ ...message(), to: "x" });
  await expect(whatsApp.waitForMessages((messages) => messages.length > 0, 20)).rejects.toThrow("131009");
});

describe("with approved templates", () => {
  const heard: (string | undefined)[] = [];

  beforeEach(async () => {
    await whatsApp.close();
    heard.length = 0;
    const texts = { en_IN: "Dear {{1}}, pay here: {{2}}", hi: "{{2}}: {{1}}" };
    whatsApp = await startFakeWhatsApp({
      token: "EAAG-token",
      phoneNumberId: "1055501",
      templates: { payment_link: texts },
      onMessage: ({ text }) => heard.push(text),
    });
  });

  test("a message has the text that the recipient reads", async () => {
    await send(message());
    await send({ ...message(), template: { ...template(), language: { code: "hi" } } });
    expect(heard).toEqual(["Dear Asha Rao, pay here: https://pay.example/1", "https://pay.example/1: Asha Rao"]);
    expect(whatsApp.messages.map(({ text }) => text)).toEqual(heard);
  });

  test.each<[string, object, number]>([
    ["a language without an approved text", { language: { code: "mr" } }, 132001],
    ["a template that does not exist", { name: "constructor" }, 132001],
    ["too few parameters", { components: [{ type: "body", parameters: [{ type: "text", text: "a" }] }] }, 132000],
  ])("%s is rejected with Meta's error code", async (_fault, change, code) => {
    const response = await send({ ...message(), template: { ...template(), ...change } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code } });
    expect(heard).toEqual([]);
  });
});

describe("a registered callback", () => {
  test("is validated, and receives each message's statuses in signed calls", async () => {
    const calls: { signature: unknown; body: string }[] = [];
    const server = createServer((incoming, response) => {
      const query = new URL(incoming.url ?? "", "http://localhost").searchParams;
      if (incoming.method === "GET") {
        response.end(query.get("hub.verify_token") === "verify" ? query.get("hub.challenge") : "no");
        return;
      }
      void text(incoming).then((body) => {
        calls.push({ signature: incoming.headers["x-hub-signature-256"], body });
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    await expect(whatsApp.registerCallback({ url, appSecret: "s", verifyToken: "guess" })).rejects.toThrow("validated");
    await whatsApp.registerCallback({ url, appSecret: "s", verifyToken: "verify" });
    whatsApp.statusAfterMs = 1;
    await send(message());
    await expect.poll(() => calls.length).toBe(3);
    for (const { signature, body } of calls) {
      expect(signature).toBe(`sha256=${createHmac("sha256", "s").update(body).digest("hex")}`);
    }
    const told = calls.map(({ body }) => JSON.parse(body).entry[0].changes[0].value.statuses[0]);
    expect(told.map(({ status }) => status)).toEqual(["sent", "delivered", "read"]);
    expect(told[0].id).toBe(whatsApp.messages[0]?.id);
    await new Promise((resolve) => server.close(resolve));
  });
});

interface Sending {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

function send(body: object, { path = PATH, method = "POST", headers = {}, signal }: Sending = {}) {
  return fetch(whatsApp.url + path, {
    method,
    signal: signal ?? null,
    headers: { Authorization: "Bearer EAAG-token", "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

function template() {
  const parameters = [
    { type: "text", text: "Asha Rao" },
    { type: "text", text: "https://pay.example/1" },
  ];
  return { name: "payment_link", language: { code: "en_IN" }, components: [{ type: "body", parameters }] };
}

function message() {
  return { messaging_product: "whatsapp", to: "+919800000001", type: "template", template: template() };
}

function withParameter(parameter: unknown): object {
  return { template: { ...template(), components: [{ type: "body", parameters: [parameter] }] } };
}
