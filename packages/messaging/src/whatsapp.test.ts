import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createOutbound } from "@collections/outbound";
import { expect, test } from "vitest";
import { WhatsAppNotSentError } from "./whatsapp-not-sent.ts";
import { createWhatsApp, type TemplateMessage } from "./whatsapp.ts";

const MESSAGE: TemplateMessage = {
  phoneNumberId: "106540352242922",
  accessToken: "EAAtest.token",
  to: "+919800000001",
  template: { name: "payment_link", language: "en", bodyParameters: ["Asha", "₹2,500", "https://pay.example/l/77"] },
};
const ACCEPTED = { messaging_product: "whatsapp", messages: [{ id: "wamid.HBgL", message_status: "accepted" }] };

test("a template message is sent exactly as the Cloud API documents it", async () => {
  await using api = await openCloudApi(() => [200, ACCEPTED]);
  expect(await api.whatsApp.sendTemplate(MESSAGE)).toEqual({ messageId: "wamid.HBgL" });
  expect(api.requests).toEqual([
    {
      line: "POST /v24.0/106540352242922/messages",
      authorization: "Bearer EAAtest.token",
      contentType: "application/json",
      body: {
        messaging_product: "whatsapp",
        recipient_type: "individual",
        to: "+919800000001",
        type: "template",
        template: {
          name: "payment_link",
          language: { code: "en" },
          components: [
            {
              type: "body",
              parameters: [
                { type: "text", text: "Asha" },
                { type: "text", text: "₹2,500" },
                { type: "text", text: "https://pay.example/l/77" },
              ],
            },
          ],
        },
      },
    },
  ]);
});

test("a template without parameters has no components, and line breaks in parameters become spaces", async () => {
  await using api = await openCloudApi(() => [200, ACCEPTED]);
  await api.whatsApp.sendTemplate({ ...MESSAGE, template: { ...MESSAGE.template, bodyParameters: [] } });
  await api.whatsApp.sendTemplate({
    ...MESSAGE,
    template: { ...MESSAGE.template, bodyParameters: [" A\n\tB     C "] },
  });
  const templates = api.requests.map(({ body }) => (body as { template: object }).template);
  expect(templates[0]).toEqual({ name: "payment_link", language: { code: "en" } });
  expect(templates[1]).toMatchObject({ components: [{ parameters: [{ type: "text", text: "A B C" }] }] });
});

test("sendTemplate sends callbackData with the message", async () => {
  await using api = await openCloudApi(() => [200, ACCEPTED]);
  await api.whatsApp.sendTemplate({ ...MESSAGE, callbackData: "0199a2b4-0000-7000-8000-000000000001" });
  expect(api.requests[0]!.body).toMatchObject({ biz_opaque_callback_data: "0199a2b4-0000-7000-8000-000000000001" });
});

test("an authentication template has its code in the body and in the button", async () => {
  await using api = await openCloudApi(() => [200, ACCEPTED]);
  const template = { name: "sign_in_code", language: "en", bodyParameters: ["123456"], buttonCode: "123456" };
  await api.whatsApp.sendTemplate({ ...MESSAGE, template });
  const parameters = [{ type: "text", text: "123456" }];
  expect((api.requests[0]!.body as { template: object }).template).toMatchObject({
    components: [
      { type: "body", parameters },
      { type: "button", sub_type: "url", index: "0", parameters },
    ],
  });
});

test.each<[number, number, string, boolean]>([
  [190, 401, "TOKEN_INVALID", false],
  [10, 403, "NOT_PERMITTED", false],
  [299, 403, "NOT_PERMITTED", false],
  [368, 403, "ACCOUNT_RESTRICTED", false],
  [131_042, 400, "ACCOUNT_RESTRICTED", false],
  [132_001, 404, "TEMPLATE_REFUSED", false],
  [131_026, 400, "UNDELIVERABLE", false],
  [130_429, 429, "RATE_LIMITED", true],
  [80_007, 400, "RATE_LIMITED", true],
  [131_056, 400, "RATE_LIMITED", true],
  [100, 400, "INVALID_REQUEST", false],
  [131_016, 503, "TEMPORARY", true],
  [999_999, 500, "TEMPORARY", true],
  [999_999, 400, "INVALID_REQUEST", false],
])(
  "sendTemplate reports Meta's error %i with HTTP %i as %s, with the property retryable = %s",
  async (metaCode, status, code, retryable) => {
    const message = `(#${metaCode}) Recipient +919800000001 with token EAAtest.token`;
    await using api = await openCloudApi(() => [
      status,
      { error: { message, type: "OAuthException", code: metaCode } },
    ]);
    const error = await failureOf(api.whatsApp.sendTemplate(MESSAGE));
    expect(error).toMatchObject({ code, retryable, status, detail: expect.stringContaining(`${metaCode}`) });
    expect(`${error.detail}${error.stack}`).not.toMatch(/9800000001|EAAtest/);
  },
);

test.each<[number, string, boolean]>([
  [500, "OUTCOME_UNKNOWN", false],
  [502, "OUTCOME_UNKNOWN", false],
  [504, "OUTCOME_UNKNOWN", false],
  [429, "RATE_LIMITED", true],
  [401, "TOKEN_INVALID", false],
  [403, "NOT_PERMITTED", false],
  [302, "INVALID_REQUEST", false],
])("sendTemplate reports HTTP %i without Meta's error body as %s", async (status, code, retryable) => {
  await using api = await openCloudApi(() => [status, "<html>gateway</html>"]);
  expect(await failureOf(api.whatsApp.sendTemplate(MESSAGE))).toMatchObject({ code, retryable, status });
});

test.each(["accepted", {}, { messages: [] }, { messages: [{ id: "" }] }, { messages: "x" }, null])(
  "sendTemplate reports a 200 without a message id (%j) as OUTCOME_UNKNOWN, which is not retryable",
  async (body) => {
    await using api = await openCloudApi(() => [200, body]);
    const error = await failureOf(api.whatsApp.sendTemplate(MESSAGE));
    expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN", retryable: false, status: 200 });
  },
);

test("sendTemplate reports OUTCOME_UNKNOWN if there is no answer, because WhatsApp may have received the message", async () => {
  let [error, received] = [new Error("not sent yet"), 0];
  // On a busy machine, the time limit may end before the message arrives. Then a call with more time follows.
  for (let timeoutMs = 500; received === 0; timeoutMs *= 4) {
    await using api = await openCloudApi(() => undefined, timeoutMs);
    error = await failureOf(api.whatsApp.sendTemplate(MESSAGE));
    received = api.requests.length;
  }
  expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN", retryable: false, status: undefined });
  expect(received).toBe(1);
});

test("sendTemplate reports a retryable UNREACHABLE if the connection is refused, because WhatsApp has not received the message", async () => {
  const api = await openCloudApi(() => undefined);
  await api.closeServer();
  expect(await failureOf(api.whatsApp.sendTemplate(MESSAGE))).toMatchObject({ code: "UNREACHABLE", retryable: true });
  await api[Symbol.asyncDispose]();
});

test("sendTemplate loses no message to an idle connection that WhatsApp closes", async () => {
  // The second request on a connection arrives after the server has decided to close it.
  const served = new Set<unknown>();
  await using api = await openCloudApi(({ socket }) => {
    if (served.has(socket)) return void socket!.resetAndDestroy();
    served.add(socket);
    return [200, ACCEPTED];
  });
  await api.whatsApp.sendTemplate(MESSAGE);
  expect(await api.whatsApp.sendTemplate(MESSAGE)).toEqual({ messageId: "wamid.HBgL" });
  expect(api.requests).toHaveLength(2);
});

test("sendTemplate does not connect to an address that the operator does not allow", async () => {
  await using outbound = closing(createOutbound());
  const whatsApp = createWhatsApp({ baseUrl: "http://127.0.0.1:9", outbound });
  expect(await failureOf(whatsApp.sendTemplate(MESSAGE))).toMatchObject({ code: "UNREACHABLE", retryable: false });
});

test.each<[Partial<TemplateMessage>, string]>([
  [{ phoneNumberId: "../oauth" }, "INVALID_REQUEST"],
  [{ phoneNumberId: "" }, "INVALID_REQUEST"],
  [{ to: "9800000001" }, "INVALID_REQUEST"],
  [{ to: "+91 98000 00001" }, "INVALID_REQUEST"],
  [{ accessToken: "" }, "TOKEN_INVALID"],
  [{ accessToken: "EAA\r\nX-Evil: 1" }, "TOKEN_INVALID"],
])("sendTemplate rejects %j before anything is sent", async (part, code) => {
  await using api = await openCloudApi(() => [200, ACCEPTED]);
  const error = await failureOf(api.whatsApp.sendTemplate({ ...MESSAGE, ...part }));
  expect(error).toMatchObject({ code, retryable: false });
  expect(`${error.detail}${error.stack}`).not.toMatch(/98000|EAA/);
  expect(api.requests).toEqual([]);
});

async function failureOf(sending: Promise<unknown>): Promise<WhatsAppNotSentError> {
  const error: unknown = await sending.catch((caught: unknown) => caught);
  if (error instanceof WhatsAppNotSentError) return error;
  throw new Error("expected a WhatsAppNotSentError", { cause: error });
}

type SeenRequest = {
  line: string;
  authorization: string | undefined;
  contentType: string | undefined;
  body: unknown;
};

/**
 * Starts an HTTP server in place of Meta's. The server sends the answer that `reply` returns. If `reply` returns
 * undefined, the server does not answer.
 */
async function openCloudApi(
  reply: (response: ServerResponse) => [number, unknown] | undefined | void,
  timeoutMs = 300_000,
) {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => void serve(request, response));
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push({
      line: `${request.method} ${request.url}`,
      authorization: request.headers.authorization,
      contentType: request.headers["content-type"],
      body: JSON.parse(Buffer.concat(chunks).toString("utf8")),
    });
    const [status, body] = reply(response) ?? [];
    if (status !== undefined) response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const outbound = createOutbound({ allow: host });

  async function closeServer(): Promise<void> {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }
  return {
    requests,
    whatsApp: createWhatsApp({ baseUrl: `http://${host}/v24.0/`, outbound, timeoutMs }),
    closeServer,
    async [Symbol.asyncDispose]() {
      await outbound.close();
      if (server.listening) await closeServer();
    },
  };
}

function closing<Closable extends { close(): Promise<void> }>(closable: Closable): Closable & AsyncDisposable {
  return Object.assign(closable, { [Symbol.asyncDispose]: () => closable.close() });
}
