import { migrate, query, statement, transaction } from "@collections/database";
import { createDatabase, type Tx } from "@collections/entities";
import { sign, verify } from "@collections/signing";
import { testDatabase } from "@collections/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import {
  actsOn,
  createCredentials,
  createKey,
  createKeyUses,
  createLender,
  createVault,
  DEBUGGER_OPEN_MS,
  keysOf,
  openDebugger,
  recordKeyUse,
  retireKey,
  revokeKey,
  SealedValueError,
  setSigningKey,
  suspendLender,
  unreadableSecrets,
} from "../index.ts";
import { lendersSchema } from "../schema.ts";
import { apiKeySecretContext } from "../secret/sealed-context.ts";

const schemas = [lendersSchema];
const { url } = await testDatabase("lenders", async (url) => void (await migrate({ url, schemas })));
const statements: (string | undefined)[] = [];
const database = await createDatabase({ url, schemas, onStatement: ({ name }) => statements.push(name) });
const elsewhere = await createDatabase({ url, schemas });
afterAll(async () => {
  await database.close();
  await elsewhere.close();
});
const vault = createVault({ masterKey: "0a".repeat(32) });
const credentialsNow = () => createCredentials(() => database.em(), vault);
const reason = "needed for the test";
const evenIfLast = true;

function aLender(code: string) {
  const lender = { code, name: "Acme", currency: "INR", environment: "sandbox", commissionPercent: "2.5" };
  return transaction(elsewhere.em(), (tx) => createLender(tx, vault, lender));
}

function aKey(lenderId: string) {
  return transaction(elsewhere.em(), (tx) => createKey(tx, vault, { lenderId, environment: "sandbox" }));
}

test("byKeyId returns the lender, and an API key that verifies a signature made with the secret", async () => {
  const { lender, apiKeyId, hmacSecret } = await aLender("ACME");
  const credential = await credentialsNow().byKeyId(apiKeyId);
  const { id, code, state, currency, commission } = lender;
  expect(credential).toMatchObject({ keyId: apiKeyId, keyState: "active" });
  expect(credential?.lender).toMatchObject({ id, code, state, currency, commission, rateLimits: {} });
  const request = { method: "GET", path: "/api/v1/partner/health", timestamp: "1795167667000", body: "" };
  const signature = sign({ ...request, secret: hmacSecret });
  expect(verify({ ...request, secret: credential!.signingKey, signature })).toBe(true);
});

test("byKeyId returns undefined for an unknown key id and for a text that is not a key id", async () => {
  const credentials = credentialsNow();
  await aLender("OTHER");
  for (const keyId of ["", "lk_", "lk_' or 1=1", `lk_${"0".repeat(24)}`, `lk_${"0".repeat(25)}`]) {
    expect(await credentials.byKeyId(keyId)).toBeUndefined();
  }
});

test("a thousand requests with one API key and a thousand with an unknown API key are answered by one query", async () => {
  const { apiKeyId, lender } = await aLender("HERD");
  const credentials = credentialsNow();
  statements.length = 0;
  const unknown = `lk_${"f".repeat(24)}`;
  const callers = Array.from({ length: 1000 }, () => [credentials.byKeyId(apiKeyId), credentials.byKeyId(unknown)]);
  const answers = await Promise.all(callers.flat());
  expect(answers.filter((answer) => answer?.lender.id === lender.id)).toHaveLength(1000);
  expect(statements).toEqual(["lenders.keys-by-id"]);
});

test("concurrent requests for API keys of several lenders take one query, and each request gets the lender of its key", async () => {
  const lenders = await Promise.all(["MANYA", "MANYB", "MANYC"].map(aLender));
  const credentials = credentialsNow();
  statements.length = 0;
  const found = await Promise.all(lenders.map(({ apiKeyId }) => credentials.byKeyId(apiKeyId)));
  expect(found.map((one) => one?.lender.id)).toEqual(lenders.map(({ lender }) => lender.id));
  const signing = await Promise.all(lenders.map(({ lender }) => credentials.signingKeyOf(lender.id)));
  expect(signing.map((one) => one?.keyId)).toEqual(lenders.map(({ apiKeyId }) => apiKeyId));
  expect(statements).toEqual(["lenders.keys-by-id", "lenders.signing-keys"]);
});

test("if the secret of an API key cannot be decrypted, only the read of that key fails", async () => {
  const [sound, broken] = [await aLender("SOUND"), await aLender("BROKEN")];
  const secret = createVault({ masterKey: "0b".repeat(32) }).seal("sk", "elsewhere");
  await query(elsewhere.em(), breakSecret, [broken.lender.id, secret]);
  const credentials = credentialsNow();
  const [good, bad] = await Promise.allSettled([sound, broken].map(({ apiKeyId }) => credentials.byKeyId(apiKeyId)));
  expect(good).toMatchObject({ status: "fulfilled", value: { keyId: sound.apiKeyId } });
  expect(bad).toMatchObject({ status: "rejected", reason: expect.any(SealedValueError) as unknown });
});

test("a process notices within a second that another process has revoked an API key or suspended a lender", async () => {
  const [revoked, suspended] = [await aLender("REVOKED"), await aLender("STOPPED")];
  const credentials = credentialsNow();
  expect(await credentials.byKeyId(revoked.apiKeyId)).toMatchObject({ keyState: "active" });
  expect(await credentials.byKeyId(suspended.apiKeyId)).toMatchObject({ lender: { state: "active" } });
  await transaction(elsewhere.em(), async (tx) => {
    await revokeKey(tx, { lenderId: revoked.lender.id, keyId: revoked.apiKeyId, reason, evenIfLast });
    await suspendLender(tx, suspended.lender.id, reason);
  });
  await sleep(850);
  expect(await credentials.byKeyId(revoked.apiKeyId)).toMatchObject({ keyState: "revoked" });
  expect(await credentials.byKeyId(suspended.apiKeyId)).toMatchObject({ lender: { state: "suspended" } });
});

test("a retiring API key is valid before its retirement date and revoked from that date on, even if it is cached", async () => {
  const { lender, apiKeyId } = await aLender("RETIRING");
  const on = new Date(Date.now() + 60_000);
  const key = { lenderId: lender.id, keyId: apiKeyId };
  await transaction(elsewhere.em(), (tx) => retireKey(tx, { ...key, on, reason, evenIfLast }));
  const clock = { now: new Date(on.getTime() - 1) };
  const credentials = createCredentials(() => database.em(), vault, { now: () => clock.now });
  expect(await credentials.byKeyId(apiKeyId)).toMatchObject({ keyState: "retiring" });
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: apiKeyId });
  clock.now = on;
  expect(await credentials.byKeyId(apiKeyId)).toMatchObject({ keyState: "revoked" });
  expect(await credentials.signingKeyOf(lender.id)).toBeUndefined();
  expect(await keysOf(database.em(), lender.id, on)).toMatchObject([{ state: "revoked", retiresAt: on }]);
  const chosen = transaction(elsewhere.em(), (tx) => setSigningKey(tx, key, on));
  await expect(chosen).rejects.toMatchObject({ code: "API_KEY_REVOKED" });
});

test("a new API key does not sign until setSigningKey chooses it, and after concurrent choices exactly one key signs", async () => {
  const { lender, apiKeyId } = await aLender("CHOOSING");
  const others = [await aKey(lender.id), await aKey(lender.id), await aKey(lender.id)];
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: apiKeyId });
  await Promise.all(
    others.map((key) =>
      transaction(elsewhere.em(), (tx) => setSigningKey(tx, { lenderId: lender.id, keyId: key.apiKeyId })),
    ),
  );
  const signing = (await keysOf(database.em(), lender.id)).filter((key) => key.signing);
  expect(signing).toHaveLength(1);
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: signing[0]!.id });
});

test("after the signing key is revoked, the newest remaining key signs, or the next new key if none remains", async () => {
  const { lender, apiKeyId } = await aLender("HEIRS");
  const [middle, newest] = [await aKey(lender.id), await aKey(lender.id)];
  const revoke = (keyId: string) =>
    transaction(elsewhere.em(), (tx) => revokeKey(tx, { lenderId: lender.id, keyId, reason, evenIfLast }));
  await revoke(apiKeyId);
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: newest.apiKeyId });
  await revoke(middle.apiKeyId);
  await revoke(newest.apiKeyId);
  await revoke(newest.apiKeyId);
  expect(await credentialsNow().signingKeyOf(lender.id)).toBeUndefined();
  const { apiKeyId: last } = await aKey(lender.id);
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: last });
  const states = (await keysOf(database.em(), lender.id)).map(({ state }) => state);
  expect(states).toEqual(["revoked", "revoked", "revoked", "active"]);
});

test("the first use of a new API key makes it the signing key, and later uses do not", async () => {
  const { lender, apiKeyId } = await aLender("FIRSTUSE");
  const { apiKeyId: fresh } = await aKey(lender.id);
  const use = (keyId: string, at: Date) =>
    transaction(elsewhere.em(), (tx) => recordKeyUse(tx, { lenderId: lender.id, keyId, at }));
  const at = new Date("2026-11-21T09:00:00Z");
  await use(fresh, at);
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: fresh });
  await transaction(elsewhere.em(), (tx) => setSigningKey(tx, { lenderId: lender.id, keyId: apiKeyId, reason }));
  await use(fresh, new Date("2026-11-21T09:05:00Z"));
  await use(fresh, at);
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: apiKeyId });
  const used = (await keysOf(database.em(), lender.id)).find(({ id }) => id === fresh);
  expect(used?.lastUsedAt).toEqual(new Date("2026-11-21T09:05:00Z"));
});

test("`take` returns each used key once in ten seconds, with its latest use", () => {
  const uses = createKeyUses();
  const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21, 9, 0, seconds));
  const note = (keyId: string, seconds: number) => uses.note({ lenderId: "1", keyId, at: at(seconds) });
  note("lk_a", 0);
  note("lk_a", 1);
  note("lk_b", 1);
  expect(uses.take(at(1)).map(({ keyId, at }) => [keyId, at])).toEqual([
    ["lk_a", at(1)],
    ["lk_b", at(1)],
  ]);
  note("lk_a", 2);
  note("lk_a", 3);
  expect(uses.take(at(10))).toEqual([]);
  expect(uses.take(at(11))).toEqual([{ lenderId: "1", keyId: "lk_a", at: at(3) }]);
  expect(uses.take(at(60))).toEqual([]);
});

test("invalid actions on API keys are rejected with an error code", async () => {
  const [{ lender, apiKeyId }, other] = [await aLender("REFUSALS"), await aLender("STRANGER")];
  const act = (work: (tx: Tx) => Promise<void>) => transaction(elsewhere.em(), work);
  const [on, past] = [new Date(Date.now() + 60_000), new Date(Date.now() - 1)];
  const key = { lenderId: lender.id, keyId: apiKeyId, reason, evenIfLast };
  const strange = { ...key, keyId: other.apiKeyId };
  await expect(act((tx) => revokeKey(tx, strange))).rejects.toMatchObject({ code: "API_KEY_NOT_FOUND" });
  await expect(act((tx) => revokeKey(tx, { ...key, reason: "" }))).rejects.toMatchObject({ field: "reason" });
  for (const odd of [past, new Date("someday")]) {
    await expect(act((tx) => retireKey(tx, { ...key, on: odd }))).rejects.toMatchObject({ code: "INVALID_DATE" });
  }
  await act((tx) => retireKey(tx, { ...key, on }));
  await expect(act((tx) => setSigningKey(tx, key))).rejects.toMatchObject({ code: "API_KEY_RETIRED" });
  await act((tx) => revokeKey(tx, key));
  await expect(act((tx) => retireKey(tx, { ...key, on }))).rejects.toMatchObject({ code: "API_KEY_REVOKED" });
});

test("secretsFor returns an API key's secret and the secrets of the same lender's other keys, newest first", async () => {
  const [first, stranger] = [await aLender("SECRETS"), await aLender("SECRETS2")];
  const lenderId = first.lender.id;
  const [second, third] = [await aKey(lenderId), await aKey(lenderId)];
  await transaction(elsewhere.em(), (tx) => revokeKey(tx, { lenderId, keyId: third.apiKeyId, reason }));
  const secretsFor = (keyId: string) => credentialsNow().secretsFor(keyId);
  const [one, two, three] = [first, second, third].map(({ apiKeyId, hmacSecret }) => ({
    keyId: apiKeyId,
    secret: hmacSecret,
  }));
  expect(await secretsFor(first.apiKeyId)).toEqual({ ...one, others: [three, two] });
  expect(await secretsFor(second.apiKeyId)).toEqual({ ...two, others: [three, one] });
  const { rows } = await elsewhere.pool.query<{ secret: string }>("select secret from lenders.api_key where id = $1", [
    stranger.apiKeyId,
  ]);
  await elsewhere.pool.query("update lenders.api_key set secret = $2 where id = $1", [third.apiKeyId, rows[0]!.secret]);
  expect(await secretsFor(first.apiKeyId)).toEqual({ ...one, others: [two] });
  await expect(secretsFor(third.apiKeyId)).rejects.toMatchObject({ code: "SEALED_VALUE_ALTERED" });
  expect(await secretsFor("lk_nobody")).toBeUndefined();
});

test("an operator can open the signature debugger for one API key for an hour, with a reason", async () => {
  const { lender, apiKeyId } = await aLender("DEBUGGED");
  const other = await aKey(lender.id);
  const key = { lenderId: lender.id, keyId: apiKeyId, reason };
  const now = new Date("2026-11-21T09:00:00Z");
  const open = (change: Partial<typeof key>, at = now) =>
    transaction(elsewhere.em(), (tx) => openDebugger(tx, { ...key, ...change }, at));
  const until = await open({});
  expect(until.getTime() - now.getTime()).toBe(DEBUGGER_OPEN_MS);
  expect(await credentialsNow().byKeyId(apiKeyId)).toMatchObject({ debugUntil: until });
  expect(await credentialsNow().byKeyId(other.apiKeyId)).toMatchObject({ debugUntil: null });
  expect((await keysOf(database.em(), lender.id)).map(({ debugUntil }) => debugUntil)).toEqual([until, null]);
  expect((await actsOn(database.em(), lender.id))[0]).toMatchObject({ act: "key.debugged", reason });
  await expect(open({ reason: " " })).rejects.toMatchObject({ field: "reason" });
  await transaction(elsewhere.em(), (tx) => revokeKey(tx, { ...key, evenIfLast }));
  await expect(open({})).rejects.toMatchObject({ code: "API_KEY_REVOKED" });
});

const breakSecret = statement(
  "lenders-trial.break-secret",
  "update lenders.api_key set secret = $2 where lender_id = $1",
);

test("an API key whose secret cannot be decrypted does not sign, and is listed as an unreadable secret", async () => {
  const { lender, apiKeyId } = await aLender("SKIP");
  const { apiKeyId: second } = await aKey(lender.id);
  const spoil = (keyId: string, state = "active") =>
    database.pool.query("update lenders.api_key set secret = $2, state = $3 where id = $1", [
      keyId,
      createVault({ masterKey: "0c".repeat(32) }).seal("sk_live_x", apiKeySecretContext(lender.id, keyId)),
      state,
    ]);
  expect(await unreadableSecrets(database.em(), vault, lender.id)).toEqual([]);
  await spoil(apiKeyId);
  expect(await credentialsNow().signingKeyOf(lender.id)).toMatchObject({ keyId: second });
  const named = { lenderId: lender.id, kind: "API_KEY", keyId: apiKeyId, fault: { code: "UNKNOWN_MASTER_KEY" } };
  expect(await unreadableSecrets(database.em(), vault, lender.id)).toMatchObject([named]);
  const ofAll = await unreadableSecrets(database.em(), vault);
  expect(ofAll.filter(({ lenderId }) => lenderId === lender.id)).toMatchObject([named]);

  await spoil(second);
  await expect(credentialsNow().signingKeyOf(lender.id)).rejects.toThrow(SealedValueError);
  await transaction(elsewhere.em(), (tx) => revokeKey(tx, { lenderId: lender.id, keyId: second, reason, evenIfLast }));
  expect(await unreadableSecrets(database.em(), vault, lender.id)).toMatchObject([named]);
});

test("unreadableSecrets lists every kind of secret that cannot be decrypted", async () => {
  const registered = {
    code: "KINDS",
    name: "Acme",
    currency: "INR",
    environment: "live",
    mintLinkUrl: "https://lender.example/mint",
    mintAuthHeader: "X-Api-Key: mint-s3cret",
    whatsappPhoneNumberId: "1234567890",
    whatsappToken: "wa-s3cret",
    whatsappAppSecret: "app-s3cret-of-meta",
    whatsappVerifyToken: "verify-s3cret-of-meta",
  };
  const { lender } = await transaction(elsewhere.em(), (tx) => createLender(tx, vault, registered));
  expect(await unreadableSecrets(database.em(), vault, lender.id)).toEqual([]);
  const stranger = createVault({ masterKey: "0c".repeat(32) });
  const found = await unreadableSecrets(database.em(), stranger, lender.id);
  expect(found.map(({ kind }) => kind)).toEqual([
    "API_KEY",
    "MINT_AUTH_HEADER",
    "WHATSAPP_APP_SECRET",
    "WHATSAPP_TOKEN",
    "WHATSAPP_VERIFY_TOKEN",
  ]);
});
