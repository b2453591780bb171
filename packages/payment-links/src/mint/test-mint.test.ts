import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { currency } from "@collections/money";
import { createOutbound } from "@collections/outbound";
import { signingKey } from "@collections/signing";
import { afterEach, describe, expect, test } from "vitest";
import { testMint, type TestedMint } from "../index.ts";

const TOKEN = "a-secret-of-the-lender";
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** Makes a test call to a server with this handler. */
async function tested(handler: RequestListener, authName = "X-Token"): Promise<TestedMint | undefined> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  closers.push(
    () => outbound.close(),
    async () => server.close(),
  );
  return testMint({
    outbound,
    linkUrlRule: { allow: outbound.allow, hosts: [] },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mint-link`,
    authHeader: { name: authName, value: TOKEN },
    signingKey: signingKey("sk_1"),
    keyId: "lk_1",
    mintKey: "test_1",
    request: {
      sourceLoanNumber: "LN-1",
      caseId: "019390f0-0000-7000-8000-000000000001",
      visitId: "019390f0-0000-7000-8000-000000000002",
      amountMinor: 100n,
      currency: currency("INR"),
      borrowerName: "Asha Rao",
      borrowerPhone: "+919800000001",
      description: "Payment for loan LN-1",
    },
    timeoutMs: 300_000,
    now: new Date(),
  });
}

describe("the secret of the registered header", () => {
  test("is masked where the lender's answer repeats it", async () => {
    const result = await tested(({ headers }, response) => {
      const token = String(headers["x-token"]);
      response.writeHead(200, { "X-Seen": token }).end(`{"success":false,"got":"${token}"}`);
    });
    expect(result).toMatchObject({
      link: null,
      request: { headers: { "x-token": "***" } },
      response: { status: 200, headers: { "x-seen": "***" }, body: '{"success":false,"got":"***"}' },
      error: { code: "refused" },
    });
    expect(JSON.stringify(result)).not.toContain(TOKEN);
  });

  test("is masked before the body is cut to 2 KB", async () => {
    const result = await tested((_, response) => response.end("x".repeat(2_040) + TOKEN + "x".repeat(100)));
    expect(result?.response?.body).toHaveLength(2_048);
    expect(result?.response?.body).toMatch(/x\*\*\*x{5}$/);
  });

  test("was not sent if one of our own headers has its name", async () => {
    const result = await tested((_, response) => response.end("{}"), "Idempotency-Key");
    expect(result?.request.headers["idempotency-key"]).toBe("test_1");
  });
});

test.each([
  [301, /redirected, .*\(301\)/],
  [401, /credentials .*\(401\)/],
  [404, /path of the mint URL \(404\)/],
  [422, /content of the request \(422\)/],
  [429, /rejected the request \(429\)/],
  [503, /failed \(503\)/],
])("the status %i has a cause and a remedy", async (status, cause) => {
  const result = await tested((_, response) => response.writeHead(status).end());
  expect(result?.error).toMatchObject({
    code: "non_2xx",
    cause: expect.stringMatching(cause) as string,
    remedy: expect.stringMatching(/^[A-Z].*\.$/) as string,
  });
});
