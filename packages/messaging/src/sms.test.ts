import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createOutbound } from "@collections/outbound";
import { expect, test } from "vitest";
import { createSmsGateway, InvalidSmsBodyError } from "./sms.ts";
import { SmsNotSentError } from "./sms-not-sent.ts";

const SMS = { to: "+919800000001", text: 'Code "123456" & {to}\nat 5 %', key: "otp-1" };
const JSON_BODY = '{"mobile":"{to}","flow":{"message":"{text}"}}';

test("an SMS is sent with the operator's JSON body and headers and an idempotency key, and its text is escaped for JSON", async () => {
  await using gateway = await openGateway((response) => response.writeHead(202).end());
  await gateway.sms(JSON_BODY).send(SMS);
  expect(gateway.requests).toEqual([
    {
      method: "POST",
      type: "application/json",
      auth: "Key secret",
      key: "otp-1",
      body: JSON.stringify({ mobile: SMS.to, flow: { message: SMS.text } }),
    },
  ]);
});

test("an SMS is sent as a form if the operator's body is not JSON", async () => {
  await using gateway = await openGateway((response) => response.end("OK"));
  await gateway.sms("To={to}&Body={text}").send(SMS);
  const [request] = gateway.requests;
  expect(request).toMatchObject({ type: "application/x-www-form-urlencoded" });
  expect(Object.fromEntries(new URLSearchParams(request!.body))).toEqual({ To: SMS.to, Body: SMS.text });
});

test.each([
  ['{"to":"{to}"}', "has no place for {text}"],
  ["text={text}", "has no place for {to}"],
  ['{"to":{to},"text":"{text}"}', "begins with { but is not valid JSON"],
])("createSmsGateway rejects the body %s: it %s", (body, reason) => {
  const make = () => createSmsGateway({ url: "http://127.0.0.1:1", headers: {}, body, outbound: createOutbound() });
  expect(make).toThrow(new InvalidSmsBodyError(reason));
});

test.each([
  [400, "REFUSED", false],
  [302, "REFUSED", false],
  [429, "RATE_LIMITED", true],
  [503, "TEMPORARY", true],
])(
  "the error for HTTP %i has the code %s and the property retryable = %s, and contains no text of the answer",
  async (status, code, retryable) => {
    await using gateway = await openGateway((response) =>
      response.writeHead(status).end(`no to ${SMS.to} ${SMS.text}`),
    );
    const error = await gateway
      .sms(JSON_BODY)
      .send(SMS)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(SmsNotSentError);
    expect(error).toMatchObject({ code, retryable, status });
    expect(`${String(error)}${(error as Error).stack}`).not.toMatch(/9800000001|123456/);
  },
);

test("an SMS fails with OUTCOME_UNKNOWN if the gateway does not answer, and with UNREACHABLE if no gateway is running", async () => {
  await using gateway = await openGateway(() => {});
  const silent = gateway.sms(JSON_BODY, 100).send(SMS);
  await expect(silent).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN", retryable: false });
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  const away = createSmsGateway({ url: "http://127.0.0.1:1/", headers: {}, body: JSON_BODY, outbound });
  await expect(away.send(SMS)).rejects.toMatchObject({ code: "UNREACHABLE", retryable: true });
  await outbound.close();
});

test("an idle connection that the gateway closes loses no message", async () => {
  // The second request on a connection arrives after the gateway has decided to close it.
  const served = new Set<unknown>();
  await using gateway = await openGateway((response) => {
    if (served.has(response.socket)) return void response.socket!.resetAndDestroy();
    served.add(response.socket);
    response.end();
  });
  const sms = gateway.sms(JSON_BODY);
  for (const key of ["first", "second"]) await sms.send({ ...SMS, key });
  expect(gateway.requests.map(({ key }) => key)).toEqual(["first", "second"]);
});

interface Received {
  method: string | undefined;
  type: string | undefined;
  auth: string | undefined;
  key: unknown;
  body: string;
}

async function openGateway(answer: (response: ServerResponse) => void) {
  const requests: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { authorization: auth, "content-type": type, "idempotency-key": key } = request.headers;
      requests.push({ method: request.method, type, auth, key, body });
      answer(response);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/send`;
  return {
    requests,
    sms: (body: string, timeoutMs = 300_000) =>
      createSmsGateway({ url, headers: { authorization: "Key secret" }, body, outbound, timeoutMs }),
    async [Symbol.asyncDispose]() {
      await outbound.close();
      server.closeAllConnections();
      server.close();
    },
  };
}
