import { HEADERS, sign } from "@collections/signing";
import type { LenderTwin } from "@collections/lender-twin";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";

const PATH = "/api/v1/partner/cases/LN%2F1";
const HOST = "proxy.example:8080";
const TARGET = `http://${HOST}${PATH}?debug=1`;

let service: TestService;
let lender: LenderTwin;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

describe("a request whose target is a whole URL", () => {
  test("is routed and verified by its path", async () => {
    expect(await send({ signedPath: PATH })).toMatchObject({ status: 404, body: { code: "LOAN_NOT_FOUND" } });
  });

  test("gets right advice if the whole URL is signed", async () => {
    const { status, body } = await send({ signedPath: `http://${HOST}${PATH}` });
    expect(status).toBe(401);
    expect(body).toMatchObject({ code: "BAD_SIGNATURE", diagnosis: [{ cause: "PATH_WITH_HOST", certain: true }] });
    expect(body["canonicalString"]).toMatch(`GET\n${PATH}\n`);
  });

  test("needs a Host header in HTTP/1.1", async () => {
    expect(await send({ signedPath: PATH, hostLine: "" })).toMatchObject({
      status: 400,
      body: { code: "MALFORMED_HTTP" },
    });
  });

  test("reaches pages without a signature", async () => {
    const bytes = `GET http://${HOST}/healthz HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n`;
    expect(await answerTo(service.url, bytes)).toMatchObject({ status: 200, body: { ok: true } });
  });
});

describe("a body with a coding", () => {
  test.each([
    ["Identity", 422],
    [" identity ", 422],
    ["GZIP", 415],
  ])("named %j is answered with %i", async (coding, status) => {
    const answer = await lender.call("POST", "/api/v1/partner/cases", {}, { headers: { "Content-Encoding": coding } });
    expect(answer.status).toBe(status);
  });
});

function send({ signedPath, hostLine = "Host: service\r\n" }: { signedPath: string; hostLine?: string }) {
  const [[apiKeyId, hmacSecret]] = [...lender.secrets] as [[string, string]];
  const timestamp = String(Date.now());
  const signature = sign({ method: "GET", path: signedPath, timestamp, body: "", secret: hmacSecret });
  const head = [
    `GET ${TARGET} HTTP/1.1`,
    `Authorization: Bearer ${apiKeyId}`,
    `${HEADERS.timestamp}: ${timestamp}`,
    `${HEADERS.signature}: ${signature}`,
    "Connection: close",
  ];
  return answerTo(service.url, `${head.join("\r\n")}\r\n${hostLine}\r\n`);
}
