import { actsOn, lenderByCode } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { recordKeyUses } from "../../src/worker/worker.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

const WITHIN_A_SECOND_MS = 1_000;

/** Two instances of the service on one database. The second has a worker. */
let one: TestService;
let other: TestService;
let cli: Cli;

beforeAll(async () => {
  one = await startTestService({ hasWorker: false });
  other = await startTestService({ settings: { DATABASE_URL: one.databaseUrl } });
  for (const { app } of [one, other]) {
    const recording = recordKeyUses(app);
    afterFile(() => recording.stop());
  }
  cli = commandsInProcess({ DATABASE_URL: one.databaseUrl });
});

interface ListedKey {
  apiKeyId: string;
  state: string;
  signing: boolean;
  lastUsedAt: string | null;
  retiresAt: string | null;
}

async function keysOf({ code }: Lender): Promise<ListedKey[]> {
  return (await cli.json("key", "list", code))["keys"] as ListedKey[];
}

/** Lets the service send a ping, and returns the id of the key that signed it. */
async function signerOfWebhooks(lender: Lender): Promise<string> {
  const { body } = await lender.testWebhook();
  const { headers } = body["request"] as { headers: Record<string, string> };
  expect(body["delivered"]).toBe(true);
  return headers["X-Service-Key-Id"]!;
}

async function anotherKey(lender: Lender): Promise<{ apiKeyId: string; hmacSecret: string }> {
  const { apiKeyId, hmacSecret } = await cli.json("key", "create", lender.code);
  lender.secrets.set(String(apiKeyId), String(hmacSecret));
  return { apiKeyId: String(apiKeyId), hmacSecret: String(hmacSecret) };
}

function statusesAt(lender: Lender, services: readonly TestService[]): Promise<number[]> {
  return Promise.all(
    services.map(async ({ url }) => {
      lender.connect({ serviceUrl: url });
      return (await lender.health()).status;
    }),
  );
}

test("replacing a key (create one, use it, retire the old one) loses no request and no webhook", async () => {
  const lender = await aLender(one);
  const [old] = await keysOf(lender);
  const newKey = await anotherKey(lender);
  expect(newKey.hmacSecret).toMatch(/^sk_sandbox_[0-9a-f]{64}$/);
  expect(await statusesAt(lender, [one, other])).toEqual([200, 200]);
  expect(await signerOfWebhooks(lender)).toBe(old!.apiKeyId);

  lender.connect({ ...newKey, serviceUrl: other.url });
  expect(await lender.health()).toMatchObject({ status: 200, body: { keyId: newKey.apiKeyId } });
  await expect.poll(() => signerOfWebhooks(lender)).toBe(newKey.apiKeyId);

  const retired = await cli.json("key", "retire", old!.apiKeyId, "--on", "2099-01-31", "--reason", "rotated");
  expect(retired).toMatchObject({ apiKeyId: old!.apiKeyId, state: "retiring", signedBy: newKey.apiKeyId });
  lender.connect({ apiKeyId: old!.apiKeyId, hmacSecret: lender.secrets.get(old!.apiKeyId)! });
  expect(await statusesAt(lender, [one, other])).toEqual([200, 200]);
  expect(await keysOf(lender)).toMatchObject([
    { apiKeyId: old!.apiKeyId, state: "retiring", retiresAt: "2099-01-31T00:00:00.000Z", signing: false },
    {
      apiKeyId: newKey.apiKeyId,
      state: "active",
      retiresAt: null,
      signing: true,
      lastUsedAt: expect.any(String) as string,
    },
  ]);
});

test("`key create` prints the secret, and no other command does", async () => {
  const lender = await aLender(one);
  const created = await cli("key", "create", lender.code);
  const [, secret] = /HMAC secret {2}(sk_\S+)/.exec(created.stdout)!;
  expect(created.stdout).toMatch(/Webhooks are signed by lk_\w+ until the lender first uses this key/);
  const keyId = (await keysOf(lender)).at(-1)!.apiKeyId;
  const shown = [
    await cli("key", "list", lender.code),
    await cli("key", "list", lender.code, "--json"),
    await cli("key", "use-for-signing", keyId, "--json"),
    await cli("key", "retire", keyId, "--on", "2099-01-01T00:00:00+05:30"),
  ];
  for (const { code, stdout } of shown) {
    expect(code).toBe(0);
    expect(stdout).toContain(keyId);
    expect(stdout).not.toContain(secret!.slice(-20));
    expect(stdout).not.toMatch(/sk_sandbox|v1:[0-9a-f]{8}:/);
  }
});

test("a revoked key is rejected by every process within a second, and another key signs the webhooks", async () => {
  const lender = await aLender(one);
  const [old] = await keysOf(lender);
  const newKey = await anotherKey(lender);
  expect(await statusesAt(lender, [one, other])).toEqual([200, 200]);
  const revoked = await cli.json("key", "revoke", old!.apiKeyId, "--reason", "leaked in a log");
  expect(revoked).toMatchObject({ state: "revoked", signing: false, signedBy: newKey.apiKeyId });
  await sleep(WITHIN_A_SECOND_MS);
  expect(await statusesAt(lender, [one, other])).toEqual([401, 401]);
  lender.connect(newKey);
  expect(await statusesAt(lender, [one, other])).toEqual([200, 200]);
  expect(await signerOfWebhooks(lender)).toBe(newKey.apiKeyId);
});

test("`key use-for-signing` makes webhooks use a key that the lender has not used yet", async () => {
  const lender = await aLender(one);
  const { apiKeyId } = await anotherKey(lender);
  const chosen = await cli("key", "use-for-signing", apiKeyId);
  expect(chosen.stdout).toBe(
    `The key ${apiKeyId} of ${lender.code} is the signing key from now on. ${apiKeyId} signs webhooks and mint calls.\n`,
  );
  await expect.poll(() => signerOfWebhooks(lender)).toBe(apiKeyId);
});

test("the last active key is retired or revoked only with --force", async () => {
  const lender = await aLender(one);
  const [{ apiKeyId } = { apiKeyId: "" }] = await keysOf(lender);
  for (const act of [
    ["retire", apiKeyId, "--on", "2099-01-31"],
    ["revoke", apiKeyId, "--reason", "leaked"],
  ]) {
    const refused = await cli("key", ...act, "--json");
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: "API_KEY_LAST" } });
  }
  expect(await lender.health()).toMatchObject({ status: 200 });
  const forced = await cli("key", "revoke", apiKeyId, "--reason", "leaked", "--force");
  expect(forced).toMatchObject({
    code: 0,
    stdout: `The key ${apiKeyId} of ${lender.code} is revoked. No key is left: the lender cannot call the service, and the service cannot call the lender.\n`,
  });
});

test("`key debug` opens the signature debugger for one key and for the given time", async () => {
  const lender = await aLender(one);
  const [{ apiKeyId } = { apiKeyId: "" }] = await keysOf(lender);
  const before = Date.now();
  const { debugUntil } = await cli.json("key", "debug", apiKeyId, "--minutes", "5", "--reason", "first deployment");
  expect(new Date(String(debugUntil)).getTime() - before).toBeGreaterThanOrEqual(5 * 60_000);
  expect(new Date(String(debugUntil)).getTime() - Date.now()).toBeLessThanOrEqual(5 * 60_000);
  const { id } = (await lenderByCode(one.app.database.em(), lender.code))!;
  const [act] = await actsOn(one.app.database.em(), id, 1);
  expect(act).toMatchObject({ act: "key.debugged", reason: "first deployment", data: { keyId: apiKeyId } });
});

test("`lender update --rate-limit` sets and resets a lender's rate limits", async () => {
  const lender = await aLender(one);
  const update = (...limits: string[]) =>
    cli.json("lender", "update", lender.code, ...limits.flatMap((limit) => ["--rate-limit", limit]));
  expect(await update("confirm=60000", "import=5")).toMatchObject({ rateLimits: { confirm: 60_000, import: 5 } });
  expect(await update("confirm=default")).toMatchObject({ rateLimits: { import: 5 } });
});

describe("a rejected key command", () => {
  test.each<[string, number, string, RegExp]>([
    ["key list NOBODY", 3, "LENDER_NOT_FOUND", /no lender NOBODY/],
    ["key retire lk_nobody --on 2099-01-01", 3, "API_KEY_NOT_FOUND", /no api key lk_nobody/],
    ["key revoke lk_nobody --reason x", 3, "API_KEY_NOT_FOUND", /no api key lk_nobody/],
    ["key retire lk_nobody --on someday", 2, "NOT_UNDERSTOOD", /Expected a local time such as 09:00/],
    ["key retire lk_nobody --on 2099-02-30", 2, "NOT_UNDERSTOOD", /Expected a day such as 2027-01-31/],
    ["key revoke lk_nobody", 2, "NOT_UNDERSTOOD", /required option '--reason <text>' not specified/],
    ["key debug lk_nobody --minutes 61 --reason x", 2, "NOT_UNDERSTOOD", /Expected a number from 1 to 60/],
    ["lender update X --rate-limit confrm=1", 2, "NOT_UNDERSTOOD", /no limit confrm; the limits are confirm, get-case/],
    ["lender update X --rate-limit confirm=0", 2, "NOT_UNDERSTOOD", /Expected a limit such as confirm=60000/],
  ])("exits with a code and a reason: %s", async (line, exitCode, code, detail) => {
    const result = await cli(...line.split(" "), "--json");
    expect(result.code).toBe(exitCode);
    expect(JSON.parse(result.stdout)).toMatchObject({
      error: { code, detail: expect.stringMatching(detail) as string },
    });
  });

  test("advises to revoke a key instead of retiring it in the past, and to choose an active key for signing", async () => {
    const lender = await aLender(one);
    const [{ apiKeyId } = { apiKeyId: "" }] = await keysOf(lender);
    await anotherKey(lender);
    const past = await cli("key", "retire", apiKeyId, "--on", "2020-01-01");
    expect(past).toMatchObject({ code: 1, stderr: expect.stringContaining("To end a key now, revoke it") as string });
    await cli.json("key", "retire", apiKeyId, "--on", "2099-01-01");
    const ending = await cli("key", "use-for-signing", apiKeyId);
    expect(ending).toMatchObject({ code: 1, stderr: expect.stringContaining("choose an active key") as string });
    await cli.json("key", "revoke", apiKeyId, "--reason", "leaked");
    const ended = await cli("key", "use-for-signing", apiKeyId);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("is revoked") as string });
  });
});
