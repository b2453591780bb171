import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectedPair, post, type SimulatedService } from "../tests/simulated-service.ts";
import type { MintBehaviour } from "./mint-endpoint.ts";
import type { LenderTwin } from "./twin.ts";

const REQUEST = {
  sourceLoanNumber: "LN-1",
  caseId: "case_1",
  visitId: "vis_1",
  amount: 1250.5,
  currency: "INR",
  borrowerName: "Asha Rao",
  borrowerPhone: "+919800000001",
  description: "EMI for loan LN-1",
};

let service: SimulatedService;
let twin: LenderTwin;

beforeEach(async () => {
  ({ service, twin } = await connectedPair());
});

afterEach(async () => {
  await twin.close();
  service.close();
});

describe("a request for a link", () => {
  test("returns a link whose pay page can be opened", async () => {
    const { status, body } = await mint("key-1");
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      link: { linkId: expect.stringMatching(/^plink_/), url: expect.any(String) },
    });
    expect(body.link?.url).toBe(twin.payUrl(body.link?.linkId ?? ""));
    expect((await fetch(body.link?.url ?? "")).status).toBe(200);
    expect(twin.mints).toMatchObject([{ request: REQUEST, idempotencyKey: "key-1", outcome: "minted" }]);
    expect(twin.links.get(body.link?.linkId ?? "")).toMatchObject({ amountMinor: 125_050n, capturedMinor: 0n });
  });

  test("returns the same link for the same Idempotency-Key, and another link for another key", async () => {
    const first = await mint("key-1");
    expect(await mint("key-1")).toEqual(first);
    expect((await mint("key-2")).body.link?.linkId).not.toBe(first.body.link?.linkId);
    expect(twin.mints.map(({ outcome }) => outcome)).toEqual(["minted", "repeated", "minted"]);
    expect(twin.links.size).toBe(2);
  });

  test("is rejected without the registered auth header, or with another value", async () => {
    expect((await mint("key-1", REQUEST, { [twin.mintAuth.name]: "wrong" })).status).toBe(401);
    expect((await post(twin.mintUrl, REQUEST, { "Idempotency-Key": "key-1" })).status).toBe(401);
    expect(twin.mints.map(({ rejection }) => rejection)).toEqual([
      "the header X-Lender-Auth does not have the registered value",
      "the header X-Lender-Auth does not have the registered value",
    ]);
  });

  test("is rejected if its signature is invalid", async () => {
    expect((await mint("key-1", REQUEST, { "X-Service-Signature": "0".repeat(64) })).status).toBe(401);
    expect(twin.mints[0]).toMatchObject({ outcome: "rejected", rejection: expect.stringContaining("signature") });
  });

  test("is rejected without an Idempotency-Key, or if the key was used with another body", async () => {
    expect((await mint("")).status).toBe(400);
    await mint("key-1");
    expect((await mint("key-1", { ...REQUEST, amount: 1 })).status).toBe(422);
    expect(twin.links.size).toBe(1);
  });

  test("is rejected if it is not JSON", async () => {
    expect((await mint("key-1", REQUEST, { "Content-Type": "text/plain" })).status).toBe(415);
    expect((await mint("key-1", "{oops")).status).toBe(422);
  });

  test.each([
    ...Object.keys(REQUEST).map((name) => [name, undefined] as const),
    ["amount", "1250.50"],
    ["amount", 0],
    ["amount", 1.234],
    ["currency", "inr"],
    ["borrowerPhone", 919_800_000_001],
  ] as const)("is rejected if %s is %j", async (name, value) => {
    expect((await mint("key-1", { ...REQUEST, [name]: value })).status).toBe(422);
    expect(twin.links.size).toBe(0);
  });
});

describe("mintBehaviour", () => {
  test.each<[MintBehaviour, number, RegExp]>([
    ["error500", 500, /configured to answer 500/],
    ["redirect", 302, /./],
    ["refuse", 200, /"success":false/],
    ["garbage", 200, /<html>/],
  ])("%s mints no link", async (behaviour, status, text) => {
    twin.mintBehaviour = behaviour;
    const response = await send("key-1");
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(text);
    expect(twin.links.size).toBe(0);
    expect(twin.mints).toMatchObject([{ behaviour, outcome: "notMinted", linkId: null }]);
  });

  test.each<[MintBehaviour, object]>([
    ["noLinkId", { url: expect.stringMatching(/^http/) }],
    ["publicUrl", { linkId: expect.any(String), url: expect.stringMatching(/^HTTPS:\/\/Pay\.Lender\.example:443\//) }],
    ["httpUrl", { linkId: expect.any(String), url: expect.stringMatching(/^http:\/\/pay\.lender\.example\//) }],
    ["javascriptUrl", { linkId: expect.any(String), url: expect.stringMatching(/^javascript:/) }],
  ])("%s answers with an invalid link", async (behaviour, link) => {
    twin.mintBehaviour = behaviour;
    expect((await mint("key-1")).body.link).toEqual(link);
  });

  test("with behaviour hugeBody the answer has eight megabytes", async () => {
    twin.mintBehaviour = "hugeBody";
    expect((await (await send("key-1")).text()).length).toBeGreaterThan(8_000_000);
  });

  test.each<MintBehaviour>(["hang", "reset", "drip"])(
    "%s mints the link, but the caller does not receive it",
    async (behaviour) => {
      twin.mintBehaviour = behaviour;
      const caller = new AbortController();
      const answered = send("key-1", REQUEST, {}, caller.signal).then((response) => response.text());
      const outcome = answered.catch(String);
      await twin.waitFor(() => twin.mints.length === 1);
      // A connection that the lender has reset fails by itself.
      if (behaviour !== "reset") caller.abort(new Error("The caller gives up."));
      expect(await outcome).toMatch(/fetch failed|gives up/);
      expect(twin.links.size).toBe(1);
      twin.mintBehaviour = "ok";
      expect((await mint("key-1")).body.link?.linkId).toBe([...twin.links.keys()][0]);
    },
  );

  test("with behaviour slow the answer is correct but late", async () => {
    twin.mintBehaviour = "slow:100";
    const startedAt = performance.now();
    expect((await mint("key-1")).body.success).toBe(true);
    expect(performance.now() - startedAt).toBeGreaterThan(90);
  });

  test("with behaviour held the answer is sent by answerHeldMints", async () => {
    twin.mintBehaviour = "held";
    let isAnswered = false;
    const minting = mint("key-1").finally(() => (isAnswered = true));
    await twin.waitFor(() => twin.mints.length === 1);
    twin.mintBehaviour = "ok";
    expect((await mint("key-2")).status).toBe(200);
    expect(isAnswered).toBe(false);
    twin.answerHeldMints();
    expect((await minting).body.link?.linkId).toBe(twin.mints[0]?.linkId);
  });

  test("with behaviour redirect, the twin records the requests that follow the redirect", async () => {
    twin.mintBehaviour = "redirect";
    const response = await send("key-1");
    await fetch(new URL(response.headers.get("location") ?? "", twin.url), { method: "POST" });
    expect(twin.strayRequests).toEqual(["POST /elsewhere"]);
  });
});

interface MintAnswer {
  success: boolean;
  link?: { linkId: string; url: string };
}

function send(
  key: string,
  body: object | string = REQUEST,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const usual = { [twin.mintAuth.name]: twin.mintAuth.value, "Idempotency-Key": key };
  return post(twin.mintUrl, body, { ...usual, ...headers }, signal === undefined ? {} : { signal });
}

async function mint(...request: Parameters<typeof send>): Promise<{ status: number; body: MintAnswer }> {
  const response = await send(...request);
  return { status: response.status, body: (await response.json()) as MintAnswer };
}
