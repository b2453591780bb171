import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { newId } from "@collections/database";
import { startLenderTwin } from "@collections/lender-twin";
import { currency } from "@collections/money";
import { createOutbound } from "@collections/outbound";
import { signingKey } from "@collections/signing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MintCall, mintLink } from "../index.ts";

const KEY_ID = "lk_sandbox_1";
const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";

let twin: Awaited<ReturnType<typeof startLenderTwin>>;
let outbound: ReturnType<typeof createOutbound>;

beforeAll(async () => {
  twin = await startLenderTwin({ credentials: { apiKeyId: KEY_ID, hmacSecret: SECRET } });
  outbound = createOutbound({ allow: "127.0.0.1:*" });
});

afterAll(async () => {
  await outbound.close();
  await twin.close();
});

function aCall(given: Partial<MintCall> = {}): MintCall {
  return {
    outbound,
    linkUrlRule: { allow: outbound.allow, hosts: [] },
    url: `${twin.mintUrl}?tenant=7`,
    authHeader: twin.mintAuth,
    signingKey: signingKey(SECRET),
    keyId: KEY_ID,
    mintKey: newId(),
    request: {
      sourceLoanNumber: "MUM/2023/00123",
      caseId: "019390f0-0000-7000-8000-000000000001",
      visitId: "019390f0-0000-7000-8000-000000000002",
      amountMinor: 250_050n,
      currency: currency("INR"),
      borrowerName: "Aśa “Asha” Rao",
      borrowerPhone: "+919800000001",
      description: "Loan MUM/2023/00123",
    },
    timeoutMs: 300_000,
    now: new Date(),
    ...given,
  };
}

describe("a lender that implements only the contract", () => {
  test("verifies the signed call and mints the requested link", async () => {
    const call = aCall();
    const answer = await mintLink(call);
    const seen = twin.mints.at(-1)!;
    expect(seen).toMatchObject({ outcome: "minted", rejection: null, idempotencyKey: call.mintKey });
    expect(answer).toEqual({ minted: { linkId: seen.linkId, url: twin.payUrl(seen.linkId!) } });
    expect(seen.rawBody).toBe(
      '{"sourceLoanNumber":"MUM/2023/00123","caseId":"case_019390f0000070008000000000000001",' +
        '"visitId":"vis_019390f0000070008000000000000002","amount":2500.5,"currency":"INR",' +
        '"borrowerName":"Aśa “Asha” Rao","borrowerPhone":"+919800000001","description":"Loan MUM/2023/00123"}',
    );
    expect(seen.headers).toMatchObject({
      "content-type": "application/json",
      accept: "application/json",
      "accept-encoding": "identity",
      "idempotency-key": call.mintKey,
      "x-service-key-id": KEY_ID,
      "x-service-timestamp": String(call.now.getTime()),
      [twin.mintAuth.name.toLowerCase()]: twin.mintAuth.value,
    });
  });

  test("returns the same link for the same mint key", async () => {
    const call = aCall();
    const [first, second] = [await mintLink(call), await mintLink(call)];
    expect(second).toEqual(first);
    expect(twin.mints.at(-1)).toMatchObject({ outcome: "repeated" });
  });

  test("cannot replace the service's headers with its registered header", async () => {
    const answer = await mintLink(aCall({ authHeader: { name: "X-Service-Signature", value: "0".repeat(64) } }));
    expect(twin.mints.at(-1)?.headers["x-service-signature"]).not.toBe("0".repeat(64));
    expect(answer).toMatchObject({ unavailable: "non_2xx" });
  });

  test.each([
    ["refuse", "refused"],
    ["garbage", "bad_answer"],
    ["noLinkId", "bad_answer"],
    ["httpUrl", "bad_url"],
    ["javascriptUrl", "bad_url"],
    ["hugeBody", "bad_answer"],
    ["error500", "non_2xx"],
    ["redirect", "non_2xx"],
    ["reset", "connect"],
    ["hang", "timeout"],
    ["drip", "timeout"],
  ] as const)(
    "makes the link unavailable if its endpoint has the behaviour `%s`, and the reason is %s",
    async (behaviour, reason) => {
      twin.mintBehaviour = behaviour;
      const before = twin.mints.length;
      try {
        const isSlow = behaviour === "hang" || behaviour === "drip";
        // On a busy machine, the call may end before the lender has read it. Then a call with more time follows.
        for (let timeoutMs = isSlow ? 150 : 300_000; twin.mints.length === before; timeoutMs *= 4) {
          expect(await mintLink(aCall({ timeoutMs }))).toMatchObject({ unavailable: reason });
        }
        expect(twin.mints.length).toBe(before + 1);
      } finally {
        twin.mintBehaviour = "ok";
      }
    },
  );
});

test("mintLink reaches a lender that closes idle connections", async () => {
  // The server has decided to close an idle connection when the next request arrives on it.
  const served = new Set<Socket>();
  const server = createServer((request, response) => {
    if (served.has(request.socket)) return void request.socket.resetAndDestroy();
    served.add(request.socket);
    const link = { linkId: `plink_${served.size}`, url: "http://127.0.0.1:4000/pay" };
    request.resume().on("end", () => response.end(JSON.stringify({ success: true, link })));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mint`;
  for (const linkId of ["plink_1", "plink_2", "plink_3"]) {
    expect(await mintLink(aCall({ url }))).toMatchObject({ minted: { linkId } });
  }
  server.closeAllConnections();
  server.close();
});

test("mintLink does not call a lender without a mint-link URL", async () => {
  expect(await mintLink(aCall({ url: null }))).toMatchObject({ unavailable: "not_configured" });
});

test("mintLink does not call an address that the operator has not allowed", async () => {
  const closed = createOutbound();
  expect(await mintLink(aCall({ outbound: closed }))).toMatchObject({ unavailable: "blocked_address" });
  await closed.close();
});

test("mintLink checks the link's URL by linkUrlRule, not by the hosts that outbound may call", async () => {
  expect(await mintLink(aCall({ linkUrlRule: { allow: { entries: [] }, hosts: [] } }))).toMatchObject({
    unavailable: "bad_url",
  });
});
