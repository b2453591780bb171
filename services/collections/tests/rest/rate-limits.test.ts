import type { Answer } from "@collections/lender-twin";
import { transaction } from "@collections/database";
import { createKey, lenderByCode, suspendLender, updateLender } from "@collections/lenders";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aRelay } from "../fixtures/processes.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

const HEALTH = "/api/v1/partner/health";
const WITHIN_A_SECOND_MS = 1_000;

/** Two instances of the service on one database, behind one trusted proxy. */
let one: TestService;
let other: TestService;

beforeAll(async () => {
  const settings = { RATE_LIMITS: "default", TRUST_PROXY: "loopback" };
  one = await startTestService({ hasWorker: false, settings });
  other = await startTestService({ hasWorker: false, settings: { ...settings, DATABASE_URL: one.databaseUrl } });
});

/** Sends `count` concurrent requests, alternately to the two instances. */
async function atOnce(lender: Lender, count: number, send: (place: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, place) => {
      lender.connect({ serviceUrl: place % 2 === 0 ? one.url : other.url });
      return send(place);
    }),
  );
}

function statusesOf(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Makes the counted requests of one API key or address older by `ms`, as if that time had passed. */
async function pass(subject: string, ms: number): Promise<void> {
  const shifted = "array(select at - $2 from unnest(at_ms) with ordinality as u (at, place) order by place)";
  await one.app.database.pool.query(`update rate_limits.permit_window set at_ms = ${shifted} where subject = $1`, [
    subject,
    ms,
  ]);
}

function keyIdOf(lender: Lender): string {
  return [...lender.secrets.keys()].at(-1)!;
}

async function registered({ code }: Lender) {
  return (await lenderByCode(one.app.database.em(), code))!;
}

describe("a rate limit of six requests a minute", () => {
  test("admits exactly six of 50 concurrent requests that two processes receive", async () => {
    const lender = await aLender(one);
    const answers = await atOnce(lender, 50, () => lender.testWebhook());
    expect(statusesOf(answers)).toEqual({ 200: 6, 429: 44 });
    const left = answers.filter(({ status }) => status === 200).map(({ headers }) => headers["ratelimit"]);
    expect(left.map((header) => /r=(\d)/.exec(String(header))![1])).toEqual(
      expect.arrayContaining(["0", "1", "2", "3", "4", "5"]),
    );
  });

  test("states in Retry-After when to retry, and admits the request then", async () => {
    const lender = await aLender(one);
    for (let count = 0; count < 6; count += 1) await lender.testWebhook();
    const { status, body, headers } = await lender.testWebhook();
    expect({ status, body }).toMatchObject({ status: 429, body: { code: "RATE_LIMITED", retryable: true } });
    const seconds = Number(headers["retry-after"]);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(body["detail"]).toBe(`This key may send 6 requests a minute here; wait ${seconds} s.`);
    expect(headers["ratelimit-policy"]).toBe('"webhooks-test";q=6;w=60');
    expect(headers["ratelimit"]).toBe(`"webhooks-test";r=0;t=${seconds}`);
    await pass(keyIdOf(lender), seconds * 1_000);
    await sleep(300);
    expect(await lender.testWebhook()).toMatchObject({ status: 200 });
  });
});

test("the RateLimit headers are in every answer to an authenticated request, and in no other answer", async () => {
  const lender = await aLender(one);
  await lender.importCases([aRow("LN-1")]);
  const answers = [
    await lender.getCase("LN-1"),
    await lender.getCase("LN-2"),
    await lender.call("PUT", "/api/v1/partner/cases/LN-1"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 405]);
  for (const [place, { headers }] of answers.entries()) {
    expect(headers["ratelimit-policy"]).toBe('"get-case";q=6000;w=60');
    expect(headers["ratelimit"]).toMatch(new RegExp(`^"get-case";r=${5_999 - place};t=[1-6]\\d?$`));
  }
  const bad = await lender.call("GET", HEALTH, "", { signature: "00" });
  expect(bad.status).toBe(401);
  expect(Object.keys(bad.headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
});

test("each API key and each endpoint has its own rate limit", async () => {
  const lender = await aLender(one);
  const first = keyIdOf(lender);
  for (let count = 0; count < 7; count += 1) await lender.testWebhook();
  expect(await lender.health()).toMatchObject({ status: 200 });
  const { id } = await registered(lender);
  const second = await transaction(one.app.database.em(), (tx) =>
    createKey(tx, one.app.vault, { lenderId: id, environment: "sandbox" }),
  );
  expect(await lender.testWebhook()).toMatchObject({ status: 429 });
  lender.connect(second);
  expect(await lender.testWebhook()).toMatchObject({ status: 200 });
  expect(keyIdOf(lender)).not.toBe(first);
});

test("a rate limit set for a lender replaces the default in all processes within a second", async () => {
  const lender = await aLender(one, { rateLimits: { health: 3 } });
  expect(statusesOf(await atOnce(lender, 20, () => lender.health()))).toEqual({ 200: 3, 429: 17 });
  const { id } = await registered(lender);
  const { app } = other;
  await transaction(app.database.em(), (tx) => updateLender(tx, app.vault, id, { rateLimits: { health: 5 } }));
  await sleep(WITHIN_A_SECOND_MS);
  const answers = await atOnce(lender, 20, () => lender.health());
  expect(statusesOf(answers)).toEqual({ 200: 2, 429: 18 });
  expect(answers[0]!.headers["ratelimit-policy"]).toBe('"health";q=5;w=60');
});

test("the rate limit is checked after the lender's suspension and before the method", async () => {
  const lender = await aLender(one, { rateLimits: { import: 1 } });
  await lender.importCases([]);
  expect(await lender.call("PUT", "/api/v1/partner/cases", "{")).toMatchObject({ status: 429 });
  const { id } = await registered(lender);
  await transaction(one.app.database.em(), (tx) => suspendLender(tx, id, "asked for"));
  await sleep(WITHIN_A_SECOND_MS);
  const suspended = await lender.importCases([]);
  expect(suspended.body).toMatchObject({ code: "LENDER_SUSPENDED" });
  expect(suspended.headers).not.toHaveProperty("ratelimit");
});

describe("the limit on failed authentications of an address", () => {
  function failing(lender: Lender, address: string): Promise<Answer> {
    return lender.call("GET", HEALTH, "", { signature: "00", headers: { "X-Forwarded-For": address } });
  }

  test("is 60 a minute over all processes, and neither counts nor rejects authenticated requests", async () => {
    const lender = await aLender(one);
    const from = { headers: { "X-Forwarded-For": "203.0.113.7" } };
    for (let count = 0; count < 5; count += 1) {
      expect(await lender.call("GET", HEALTH, "", from)).toMatchObject({ status: 200 });
    }
    const answers = await atOnce(lender, 100, () => failing(lender, "203.0.113.7"));
    expect(statusesOf(answers)).toEqual({ 401: 60, 429: 40 });
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body).toMatchObject({ code: "RATE_LIMITED", detail: expect.stringContaining("address") as string });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect(await lender.call("GET", HEALTH, "", from)).toMatchObject({ status: 200 });
    expect(await failing(lender, "203.0.113.8")).toMatchObject({ status: 401 });
    await pass("203.0.113.7", 60_000);
    await sleep(300);
    expect(await failing(lender, "203.0.113.7")).toMatchObject({ status: 401 });
  });

  test("counts the address that the trusted proxy saw, not an address that the client claims", async () => {
    const lender = await aLender(one);
    const claims = (place: number) => `10.0.0.${place}, 203.0.113.9`;
    const answers = await atOnce(lender, 61, (place) => failing(lender, claims(place)));
    expect(statusesOf(answers)).toEqual({ 401: 60, 429: 1 });

    const settings = { RATE_LIMITS: "failed-authentication=2" };
    const untrusting = await aLender(await startTestService({ hasWorker: false, settings }));
    const direct = await Promise.all([1, 2, 3].map((place) => failing(untrusting, `203.0.113.2${place}`)));
    expect(statusesOf(direct)).toEqual({ 401: 2, 429: 1 });
  });

  test("counts IPv6 addresses of one network together", async () => {
    const lender = await aLender(one);
    const answers = await atOnce(lender, 61, (place) => failing(lender, `2001:db8:7:7::${place.toString(16)}`));
    expect(statusesOf(answers)).toEqual({ 401: 60, 429: 1 });
    expect(await failing(lender, "2001:db8:7:8::1")).toMatchObject({ status: 401 });
  });
});

test("while the database is unavailable, a valid request gets 503, and an unauthenticated request gets 401", async () => {
  const relay = await aRelay(one.databaseUrl);
  const cutOff = await startTestService({
    hasWorker: false,
    settings: { DATABASE_URL: relay.url, RATE_LIMITS: "default" },
  });
  const lender = await aLender(cutOff);
  expect(await lender.health()).toMatchObject({ status: 200 });
  relay.cut();
  expect(await lender.health()).toMatchObject({ status: 503, body: { retryable: true } });
  expect(await lender.call("GET", HEALTH, "", { authorization: null })).toMatchObject({ status: 401 });
  relay.mend();
  await expect.poll(async () => (await lender.health()).status).toBe(200);
});

test("with RATE_LIMITS=off there is no limit and no RateLimit header", async () => {
  const unlimited = await startTestService({
    hasWorker: false,
    settings: { DATABASE_URL: one.databaseUrl, RATE_LIMITS: "off" },
  });
  const lender = await aLender(unlimited, { rateLimits: { health: 1 } });
  const answers = await Promise.all(Array.from({ length: 70 }, () => lender.health()));
  expect(statusesOf(answers)).toEqual({ 200: 70 });
  expect(Object.keys(answers[0]!.headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
});
