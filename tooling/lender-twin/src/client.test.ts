import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KEY_ID, connectedPair, type LenderRequest, type SimulatedService } from "../tests/simulated-service.ts";
import { LenderClient, NotConnectedError } from "./client.ts";
import type { LenderTwin } from "./twin.ts";

let service: SimulatedService;
let twin: LenderTwin;

beforeAll(async () => {
  ({ service, twin } = await connectedPair());
});

afterAll(async () => {
  await twin.close();
  service.close();
});

beforeEach(() => {
  service.answers = () => ({ status: 200, body: { ok: true } });
});

function sent(): LenderRequest {
  const request = service.requests.at(-1);
  if (request === undefined) throw new Error("the service received nothing");
  return request;
}

describe("a call", () => {
  test("is signed, names the API key, and returns status, headers and the parsed body", async () => {
    service.answers = () => ({
      status: 200,
      body: { ok: true, lenderCode: "ACME" },
      headers: { "X-Request-Id": "r1" },
    });
    const answer = await twin.health();
    expect(answer).toMatchObject({ status: 200, body: { ok: true, lenderCode: "ACME" } });
    expect(answer.headers["x-request-id"]).toBe("r1");
    expect(answer.rawBody).toBe('{"ok":true,"lenderCode":"ACME"}');
    expect(sent()).toMatchObject({ method: "GET", target: "/api/v1/partner/health", rawBody: "", distrust: null });
    expect(sent().headers.authorization).toBe(`Bearer ${KEY_ID}`);
  });

  test("returns the text of an answer that is not JSON or is invalid JSON", async () => {
    service.answers = () => ({ status: 502, body: "Bad gateway" });
    expect(await twin.health()).toMatchObject({ status: 502, body: "Bad gateway" });
    service.answers = () => ({ status: 200, body: "{oops", headers: { "Content-Type": "application/json" } });
    expect(await twin.health()).toMatchObject({ status: 200, body: "{oops" });
  });

  test("percent-encodes a loan number with slashes, and signs the encoded path", async () => {
    await twin.getCase("MUM/2023/00123");
    expect(sent()).toMatchObject({ target: "/api/v1/partner/cases/MUM%2F2023%2F00123", distrust: null });
    await twin.confirm("MUM/2023/00123", '{"amount":1}');
    expect(sent()).toMatchObject({
      target: "/api/v1/partner/cases/MUM%2F2023%2F00123/payments/confirm",
      rawBody: '{"amount":1}',
      distrust: null,
    });
    await twin.reverse("MUM/2023/00123", '{"reference":"1"}');
    expect(sent()).toMatchObject({
      method: "POST",
      target: "/api/v1/partner/cases/MUM%2F2023%2F00123/payments/reverse",
      rawBody: '{"reference":"1"}',
      distrust: null,
    });
  });

  test("sends a path unchanged, including dots and double slashes", async () => {
    await twin.call("GET", "//api/../v1//x");
    expect(sent()).toMatchObject({ target: "//api/../v1//x", distrust: null });
  });

  test("sends a query string, but does not sign it", async () => {
    await twin.importCases([{ sourceLoanNumber: "LN-1" }], { dryRun: true, atomic: true });
    expect(sent()).toMatchObject({
      method: "POST",
      target: "/api/v1/partner/cases?dryRun=true&atomic=true",
      rawBody: '{"rows":[{"sourceLoanNumber":"LN-1"}]}',
      distrust: null,
    });
    await twin.importCases([]);
    expect(sent().target).toBe("/api/v1/partner/cases");
  });

  test("sends an empty body, and signs it as empty", async () => {
    await twin.testWebhook();
    expect(sent()).toMatchObject({ target: "/api/v1/partner/webhooks/test", rawBody: "", distrust: null });
  });

  test("rejects if no answer arrives", async () => {
    service.answers = () => "reset";
    await expect(twin.health()).rejects.toThrow("ECONNRESET");
    service.answers = () => new Promise(() => {});
    await expect(twin.call("GET", "/slow", "", { timeoutMs: 20 })).rejects.toThrow("no complete answer");
  });

  test("rejects if connect was not called", async () => {
    await expect(new LenderClient().health()).rejects.toThrow(NotConnectedError);
  });
});

describe("a call with overrides", () => {
  test("sends and signs an old timestamp", async () => {
    await twin.call("GET", "/x", "", { timestamp: "1795167667000" });
    expect(sent().headers["x-service-timestamp"]).toBe("1795167667000");
    expect(sent().distrust).toContain("ms old");
  });

  test("replaces, changes or omits the signature", async () => {
    await twin.call("GET", "/x", "", { signature: "f".repeat(64) });
    expect(sent().distrust).toContain("does not match");
    await twin.call("GET", "/x", "", { signature: (right) => right.toUpperCase() });
    expect(sent().distrust).toBeNull();
    await twin.call("GET", "/x", "", { signature: null });
    expect(sent().headers["x-service-signature"]).toBeUndefined();
  });

  test("signs another body than it sends", async () => {
    await twin.call("POST", "/x", '{"a":1}', { signed: { body: '{"a": 1}' } });
    expect(sent()).toMatchObject({ rawBody: '{"a":1}', distrust: expect.stringContaining("does not match") });
    await twin.call("GET", "/x", "", { hmacSecret: "sk_sandbox_other" });
    expect(sent().distrust).toContain("does not match");
  });

  test("omits, replaces and adds headers, whatever case their names have", async () => {
    await twin.call("POST", "/x", "{}", { authorization: null, contentType: "text/xml", headers: { "X-Extra": "1" } });
    expect(sent().headers).toMatchObject({ "content-type": "text/xml", "x-extra": "1" });
    expect(sent().headers.authorization).toBeUndefined();
    await twin.call("POST", "/x", "{}", { headers: { authorization: "Basic eA==" } });
    expect(sent().headers.authorization).toBe("Basic eA==");
  });

  test("sends bytes unchanged", async () => {
    await twin.call("POST", "/x", new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]));
    expect(sent()).toMatchObject({ rawBody: "\uFEFF{}", distrust: null });
  });
});
