import type { MintBehaviour } from "@collections/lender-twin";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";
import { allRows } from "../fixtures/table-rows.ts";
import { repeatScenes } from "./fixtures/repeat-scenes.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

const PATH = "/api/v1/partner/mint-link/test";
const WITHOUT_LINK = { status: 200, body: { success: true, minted: false, link: null } };

let service: TestService;
let lender: Lender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  await lender.importCases([aRow("LN-1")]);
});

function testMint(body: object = { loan: "LN-1" }, caller: Lender = lender) {
  return caller.call("POST", PATH, body);
}

describe("a test of the mint endpoint", () => {
  test("returns the minted link, the request and the answer", async () => {
    const { status, body } = await testMint({ loan: " LN-1 ", amount: 12.5 });
    const mint = lender.mints.at(-1)!;
    const link = { linkId: mint.linkId, url: lender.payUrl(mint.linkId!) };
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      minted: true,
      durationMs: expect.any(Number) as number,
      link,
      request: {
        url: lender.mintUrl,
        headers: expect.objectContaining({
          [lender.mintAuth.name.toLowerCase()]: "***",
          "idempotency-key": mint.idempotencyKey,
          "x-service-signature": mint.headers["x-service-signature"],
        }) as object,
        body: mint.rawBody,
      },
      response: {
        status: 200,
        headers: expect.objectContaining({ "content-type": "application/json" }) as object,
        body: JSON.stringify({ success: true, link }),
      },
      error: null,
    });
    expect(mint.idempotencyKey).toMatch(/^test_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(mint.request).toMatchObject({
      sourceLoanNumber: "LN-1",
      visitId: expect.stringMatching(/^vis_[0-9a-f]{32}$/) as string,
      amount: 12.5,
      currency: "INR",
      borrowerName: "Ravi Kumar",
      borrowerPhone: "+919800000001",
    });
  });

  test("asks for one unit of the currency by default, and warns about unknown fields", async () => {
    const { body } = await testMint({ loan: "LN-1", amont: 5 });
    expect(body).toMatchObject({ minted: true, warnings: [{ code: "UNKNOWN_FIELD", pointer: "/amont" }] });
    expect(lender.mints.at(-1)!.request.amount).toBe(1);
  });

  test.each<[MintBehaviour, string, number | null]>([
    ["error500", "non_2xx", 500],
    ["status:401", "non_2xx", 401],
    ["redirect", "non_2xx", 302],
    ["refuse", "refused", 200],
    ["garbage", "bad_answer", 200],
    ["noLinkId", "bad_answer", 200],
    ["hugeBody", "bad_answer", 200],
    ["httpUrl", "bad_url", 200],
    ["javascriptUrl", "bad_url", 200],
    ["reset", "connect", null],
  ])("explains the behaviour %s as %s", async (behaviour, code, status) => {
    lender.mintBehaviour = behaviour;
    const answer = await testMint().finally(() => (lender.mintBehaviour = "ok"));
    const sentence = expect.stringMatching(/\.$/) as string;
    expect(answer).toMatchObject(WITHOUT_LINK);
    expect(answer.body).toMatchObject({ error: { code, detail: sentence, cause: sentence, remedy: sentence } });
    expect((answer.body["response"] as { status: number } | null)?.status ?? null).toBe(status);
    expect(Buffer.byteLength(answer.rawBody)).toBeLessThan(8_000);
  });

  test.each<[MintBehaviour, number | null]>([
    ["hang", null],
    ["drip", 200],
  ])("explains the behaviour %s as timeout after MINT_TIMEOUT", async (behaviour, status) => {
    const settings = { DATABASE_URL: service.databaseUrl, MINT_TIMEOUT: "500ms" };
    const impatient = await startTestService({ hasWorker: false, settings });
    const slow = await aLender(impatient);
    await slow.importCases([aRow("LN-1")]);
    slow.mintBehaviour = behaviour;
    const { body } = await testMint({ loan: "LN-1" }, slow);
    expect(body).toMatchObject({ minted: false, error: { code: "timeout" } });
    expect((body["response"] as { status: number } | null)?.status ?? null).toBe(status);
  });

  test("returns a link in canonical form", async () => {
    lender.mintBehaviour = "publicUrl";
    const { body } = await testMint().finally(() => (lender.mintBehaviour = "ok"));
    expect(body["link"]).toMatchObject({
      url: expect.stringMatching(/^https:\/\/pay\.lender\.example\/plink_/) as string,
    });
  });

  test("shows that the lender does not trust the signature", async () => {
    const other = await aLender(service);
    await other.importCases([aRow("LN-1")]);
    const secrets = other.secrets;
    const [[keyId, secret] = ["", ""]] = [...secrets];
    secrets.set(keyId, "another");
    const overrides = { hmacSecret: secret };
    const { body } = await other.call("POST", PATH, { loan: "LN-1" }, overrides);
    expect(body).toMatchObject({ minted: false, response: { status: 401 }, error: { code: "non_2xx" } });
    expect(other.mints).toMatchObject([{ outcome: "rejected" }]);
  });
});

describe("a test of the mint endpoint is refused", () => {
  test.each<[object | string, number, string]>([
    [{}, 422, "REQUIRED"],
    [{ loan: 7 }, 422, "WRONG_TYPE"],
    [{ loan: "LN-1", amount: "1" }, 422, "WRONG_TYPE"],
    [{ loan: "LN-1", amount: 0 }, 422, "AMOUNT_OUT_OF_RANGE"],
    [{ loan: "LN-1", amount: 1.005 }, 422, "AMOUNT_PRECISION"],
    [{ loan: "LN-9" }, 404, "LOAN_NOT_FOUND"],
    ["", 400, "MALFORMED_JSON"],
  ])("for the body %j", async (body, status, code) => {
    const calls = lender.mints.length;
    expect(await lender.call("POST", PATH, body)).toMatchObject({ status, body: { code } });
    expect(lender.mints).toHaveLength(calls);
  });

  test("for a loan of another lender", async () => {
    const other = await aLender(service);
    expect(await testMint({ loan: "LN-1" }, other)).toMatchObject({ status: 404, body: { code: "LOAN_NOT_FOUND" } });
    expect(other.mints).toEqual([]);
  });

  test("without a registered mint URL", async () => {
    const bare = await aLender(service, { mintLinkUrl: null, mintAuthHeader: null });
    await bare.importCases([aRow("LN-1")]);
    expect(await testMint({ loan: "LN-1" }, bare)).toMatchObject({
      status: 409,
      body: { code: "MINT_URL_NOT_CONFIGURED", detail: "The lender has registered no mint-link URL." },
    });
  });
});

test("a test of the mint endpoint stores nothing and emits no event", async () => {
  const before = await allRows(service.app);
  expect(await testMint()).toMatchObject({ body: { minted: true } });
  lender.mintBehaviour = "error500";
  expect(await testMint().finally(() => (lender.mintBehaviour = "ok"))).toMatchObject(WITHOUT_LINK);
  expect(await allRows(service.app)).toEqual(before);
});

test("two concurrent tests make two calls with their own keys", async () => {
  lender.mintBehaviour = "held";
  const calls = lender.mints.length;
  const answers = [testMint({ loan: "LN-1", amount: 2 }), testMint({ loan: "LN-1", amount: 3 })];
  await expect.poll(() => lender.mints.length).toBe(calls + 2);
  lender.mintBehaviour = "ok";
  lender.answerHeldMints();
  for (const answer of await Promise.all(answers))
    expect(answer).toMatchObject({ status: 200, body: { minted: true } });
  expect(new Set(lender.mints.slice(calls).map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
});

test("the same bytes again ask for the same link", async () => {
  const { scenes, aCall } = repeatScenes(() => service);
  const { lender: repeating, bytes } = await aCall("POST", scenes["POST mint-link-test"]!);
  await answerTo(service.url, bytes);
  await answerTo(service.url, bytes);
  expect(repeating.mints.map(({ outcome }) => outcome)).toEqual(["minted", "repeated"]);
});
