import { createOutbound } from "@collections/outbound";
import { newId, transaction } from "@collections/database";
import { until } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { openReceiver } from "../../tests/receiver.ts";
import { eventsOn, KEY_ID, NO_LOG, openTrial, SECRET } from "../../tests/trial.ts";
import {
  emit,
  InvalidWebhookHeaderError,
  signedRequest,
  testEndpoint,
  upsertEndpoint,
  type WebhookSender,
} from "../index.ts";
import { endpointOf } from "./endpoint.ts";

const trial = await openTrial();
const { database } = trial;
const em = () => database.em();
const outbound = createOutbound({ allow: "127.0.0.1:*" });
afterAll(() => outbound.close());

const API_KEY = "rk_live_51H8a";
const sender: WebhookSender = {
  outbound,
  signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }),
  headersOf: (_, endpoint) => ({ "X-Api-Key": API_KEY, ...(endpoint && { "X-Endpoint": endpoint }) }),
  timeoutMs: 300_000,
  now: () => new Date(),
};

function ping(tenantId: string, endpoint?: string) {
  const eventId = newId();
  return { tenantId, endpoint, eventId, body: JSON.stringify({ eventId }) };
}

describe("the headers of headersOf", () => {
  test("are sent with the events of their endpoint", async () => {
    await using receiver = await openReceiver();
    const tenantId = await trial.addLender(receiver.url);
    await transaction(em(), (tx) => upsertEndpoint(tx, { tenantId, name: "crm", url: receiver.url }));
    await using _running = trial.dispatch({ headersOf: sender.headersOf });
    const { eventId: _id, sequence: _sequence, ...event } = eventsOn(tenantId, "LN-1", 1, 1)[0]!;
    await transaction(em(), (tx) => emit(tx, [event]));
    await receiver.arrived(2);
    const seen = receiver.received.map(({ headers }) => [headers["x-api-key"], headers["x-endpoint"] ?? null]);
    expect(new Set(seen.map(String))).toEqual(new Set([String([API_KEY, null]), String([API_KEY, "crm"])]));
    for (const { headers } of receiver.received) expect(headers["x-service-signature"]).toMatch(/^[0-9a-f]{64}$/);
  });

  test("are sent by testEndpoint, which hides their values", async () => {
    await using receiver = await openReceiver();
    const tenantId = await trial.addLender(receiver.url);
    const tested = await testEndpoint(em(), sender, ping(tenantId));
    expect(receiver.received[0]!.headers["x-api-key"]).toBe(API_KEY);
    expect(tested.request.headers).toMatchObject({ "X-Api-Key": "(hidden)", "X-Service-Key-Id": KEY_ID });
    expect(JSON.stringify(tested)).not.toContain(API_KEY);
  });

  test("are in a signed request with their values", async () => {
    const attempt = { ...ping(newId(), "crm"), url: "https://acme.example/hooks", kind: "ping", number: 1 };
    const { headers } = await signedRequest(sender, attempt);
    expect(headers).toMatchObject({ "X-Api-Key": API_KEY, "X-Endpoint": "crm", "X-Service-Event": "ping" });
  });

  test.each<[string, Record<string, unknown>]>([
    ["Host", { Host: "other.example" }],
    ["Content-Length", { "Content-Length": "3" }],
    ["content-type", { "content-type": "text/plain" }],
    ["user-agent", { "user-agent": "curl" }],
    ["x-service-signature", { "x-service-signature": "00" }],
    ["Webhook-Id", { "Webhook-Id": "evt_1" }],
    ["x-api-key", { "X-Api-Key": "a", "x-api-key": "b" }],
    ["X-Two", { "X-Two": `${API_KEY}\r\nX-Three: 3` }],
    ["X-Empty", { "X-Empty": "" }],
    ["X-Number", { "X-Number": 7 }],
    ["X Space", { "X Space": "1" }],
  ])("are rejected for %s, and nothing is sent", async (header, headers) => {
    await using receiver = await openReceiver();
    const tenantId = await trial.addLender(receiver.url);
    const headersOf = () => headers as Record<string, string>;
    const rejected: unknown = await testEndpoint(em(), { ...sender, headersOf }, ping(tenantId)).catch(
      (error) => error,
    );
    expect(rejected).toBeInstanceOf(InvalidWebhookHeaderError);
    expect(rejected).toMatchObject({ code: "HEADER_INVALID", header, tenantId });
    expect(String(rejected)).not.toContain(API_KEY);
    expect(receiver.received).toEqual([]);
  });

  test("keep the prefix of the host's brand for the package", async () => {
    await using receiver = await openReceiver();
    const tenantId = await trial.addLender(receiver.url);
    const branded = { ...sender, headerPrefix: "X-Acme-", headersOf: () => ({ "x-acme-attempt": "9" }) };
    await expect(testEndpoint(em(), branded, ping(tenantId))).rejects.toThrow("choose another name");
  });

  test("that cannot be read leave the event waiting, without a failed attempt", async () => {
    await using receiver = await openReceiver();
    const tenantId = await trial.addLender(receiver.url);
    const logged: string[] = [];
    const log = { ...NO_LOG, error: (_facts: object, message: string) => void logged.push(message) };
    await using _running = trial.dispatch({ log, headersOf: () => ({ Host: "other.example" }) });
    await trial.publish(eventsOn(tenantId, "LN-1", 1, 1));
    await until(() => logged.includes("webhook attempt not made"));
    expect(await endpointOf(em(), tenantId)).toMatchObject({ waiting: 1, consecutiveFailures: 0 });
    expect(receiver.received).toEqual([]);
  });
});
