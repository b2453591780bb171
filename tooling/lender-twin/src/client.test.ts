import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KEY_ID, playedPair, type LenderRequest, type PlayedService } from "../tests/played-service.ts";
import { LenderClient, NotConnectedError } from "./client.ts";
import type { LenderTwin } from "./twin.ts";

let service: PlayedService;
let twin: LenderTwin;

beforeAll(async () => {
  ({ service, twin } = await playedPair());
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
  test("is signed, says who calls, and brings back status, headers and the parsed body", async () => {
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

  test("brings back the text of an answer that is not JSON, or only says that it is", async () => {
    service.answers = () => ({ status: 502, body: "Bad gateway" });
    expect(await twin.health()).toMatchObject({ status: 502, body: "Bad gateway" });
    service.answers = () => ({ status: 200, body: "{oops", headers: { "Content-Type": "application/json" } });
    expect(await twin.health()).toMatchObject({ status: 200, body: "{oops" });
  });

  test("percent-encodes a loan with slashes, and signs the path as it goes out", async () => {
    await twin.getCase("MUM/2023/00123");
    expect(sent()).toMatchObject({ target: "/api/v1/partner/cases/MUM%2F2023%2F00123", distrust: null });
    await twin.confirm("MUM/2023/00123", '{"amount":1}');
    expect(sent()).toMatchObject({
      target: "/api/v1/partner/cases/MUM%2F2023%2F00123/payments/confirm",
      rawBody: '{"amount":1}',
      distrust: null,
    });
  });

  test("sends a path as given, dots and double slashes too", async () => {
    await twin.call("GET", "//api/../v1//x");
    expect(sent()).toMatchObject({ target: "//api/../v1//x", distrust: null });
  });

  test("sends a query string unsigned", async () => {
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

  test("sends an empty body that is signed as empty", async () => {
    await twin.testWebhook();
    expect(sent()).toMatchObject({ target: "/api/v1/partner/webhooks/test", rawBody: "", distrust: null });
  });

  test("rejects when no answer comes", async () => {
    service.answers = () => "reset";
    await expect(twin.health()).rejects.toThrow("ECONNRESET");
    service.answers = () => new Promise(() => {});
    await expect(twin.call("GET", "/slow", "", { timeoutMs: 20 })).rejects.toThrow("no complete answer");
  });

  test("rejects before the lender is connected", async () => {
    await expect(new LenderClient().health()).rejects.toThrow(NotConnectedError);
  });
});

describe("a call can be broken on purpose:", () => {
  test("an old timestamp is sent and signed", async () => {
    await twin.call("GET", "/x", "", { timestamp: "1795167667000" });
    expect(sent().headers["x-service-timestamp"]).toBe("1795167667000");
    expect(sent().distrust).toContain("ms old");
  });

  test("the signature is replaced, spoiled or left away", async () => {
    await twin.call("GET", "/x", "", { signature: "f".repeat(64) });
    expect(sent().distrust).toContain("does not match");
    await twin.call("GET", "/x", "", { signature: (right) => right.toUpperCase() });
    expect(sent().distrust).toBeNull();
    await twin.call("GET", "/x", "", { signature: null });
    expect(sent().headers["x-service-signature"]).toBeUndefined();
  });

  test("something else is signed than is sent", async () => {
    await twin.call("POST", "/x", '{"a":1}', { signed: { body: '{"a": 1}' } });
    expect(sent()).toMatchObject({ rawBody: '{"a":1}', distrust: expect.stringContaining("does not match") });
    await twin.call("GET", "/x", "", { hmacSecret: "sk_sandbox_other" });
    expect(sent().distrust).toContain("does not match");
  });

  test("headers are left away, replaced and added, whatever their spelling", async () => {
    await twin.call("POST", "/x", "{}", { authorization: null, contentType: "text/xml", headers: { "X-Extra": "1" } });
    expect(sent().headers).toMatchObject({ "content-type": "text/xml", "x-extra": "1" });
    expect(sent().headers.authorization).toBeUndefined();
    await twin.call("POST", "/x", "{}", { headers: { authorization: "Basic eA==" } });
    expect(sent().headers.authorization).toBe("Basic eA==");
  });

  test("bytes go out as they are", async () => {
    await twin.call("POST", "/x", new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]));
    expect(sent()).toMatchObject({ rawBody: "\uFEFF{}", distrust: null });
  });
});
