import { migrate, transaction } from "@collections/database";
import { createDatabase, type Tx } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import {
  actsOn,
  createCredentials,
  createKey,
  createLender,
  createVault,
  keysOf,
  lenderOfKey,
  recordKeyUse,
  retireKey,
  revokeKey,
  setSigningKey,
} from "../index.ts";
import { lendersSchema } from "../schema.ts";

const schemas = [lendersSchema];
const { url } = await testDatabase("lenders", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
const elsewhere = await createDatabase({ url, schemas });
afterAll(async () => {
  await database.close();
  await elsewhere.close();
});
const vault = createVault({ masterKey: "0a".repeat(32) });
const reason = "needed for the test";
const DAY_MS = 86_400_000;
let lendersMade = 0;

/**
 * Creates a lender with `count` keys, oldest first. The returned functions act on these keys. The argument
 * `processNumber`, where a function has it, selects which of two simulated processes acts.
 */
async function aLenderWithKeys(count: number) {
  lendersMade += 1;
  const lender = { code: `KEYS${lendersMade}`, name: "Acme", currency: "INR", environment: "sandbox" };
  const created = await transaction(database.em(), (tx) => createLender(tx, vault, lender));
  const lenderId = created.lender.id;
  const keyIds = [created.apiKeyId];
  while (keyIds.length < count) keyIds.push(await newKey());

  function act<T>(work: (tx: Tx) => Promise<T>, processNumber = 0): Promise<T> {
    return transaction((processNumber % 2 === 0 ? database : elsewhere).em(), work);
  }
  async function newKey(now?: Date): Promise<string> {
    const { apiKeyId } = await act((tx) => createKey(tx, vault, { lenderId, environment: "sandbox" }, now));
    return apiKeyId;
  }
  /** Returns the signing key, and checks that `keysOf` and `signingKeyOf` agree. */
  async function signer(now = new Date()): Promise<string | undefined> {
    const listed = (await keysOf(database.em(), lenderId, now)).filter(({ signing }) => signing);
    expect(listed.length).toBeLessThanOrEqual(1);
    const credentials = createCredentials(() => database.em(), vault, { now: () => now });
    expect((await credentials.signingKeyOf(lenderId))?.keyId).toBe(listed[0]?.id);
    return listed[0]?.id;
  }
  return {
    lenderId,
    keyIds: keyIds as [string, string, string],
    signer,
    newKey,
    use: (keyId: string, processNumber = 0, at = new Date()) =>
      act((tx) => recordKeyUse(tx, { lenderId, keyId, at }), processNumber),
    choose: (keyId: string, processNumber = 0) =>
      act((tx) => setSigningKey(tx, { lenderId, keyId, reason }), processNumber),
    revoke: (keyId: string, processNumber = 0) =>
      act((tx) => revokeKey(tx, { lenderId, keyId, reason }), processNumber),
    retire: (keyId: string, on: Date) => act((tx) => retireKey(tx, { lenderId, keyId, on, reason })),
  };
}

test("if two new API keys of a lender are first used at the same time, the newer key signs, whichever use is recorded first", async () => {
  for (const order of [
    [1, 2],
    [2, 1],
  ]) {
    const { keyIds, use, signer } = await aLenderWithKeys(3);
    expect(await signer()).toBe(keyIds[0]);
    await Promise.all(order.map((key, processNumber) => use(keyIds[key]!, processNumber)));
    expect(await signer()).toBe(keyIds[2]);
  }
});

test("the first use of an older API key does not make it the signing key, but setSigningKey does", async () => {
  const { keyIds, use, choose, signer } = await aLenderWithKeys(2);
  await use(keyIds[1]);
  await use(keyIds[0]);
  expect(await signer()).toBe(keyIds[1]);
  await choose(keyIds[0]);
  await use(keyIds[1], 0, new Date(Date.now() + 60_000));
  expect(await signer()).toBe(keyIds[0]);
});

test("after the signing key is revoked, an older used key signs rather than a newer unused key", async () => {
  const { lenderId, keyIds, use, choose, revoke, signer } = await aLenderWithKeys(3);
  await use(keyIds[1]);
  await choose(keyIds[0]);
  await revoke(keyIds[0]);
  expect(await signer()).toBe(keyIds[1]);
  const [lastAct] = await actsOn(database.em(), lenderId, 1);
  expect(lastAct).toMatchObject({
    act: "key.signing",
    reason: `${keyIds[0]} was revoked`,
    data: { keyId: keyIds[1] },
  });
  await revoke(keyIds[1]);
  expect(await signer()).toBe(keyIds[2]);
});

test("after the signing key's retirement date the next key signs, and a key created later signs from its first use", async () => {
  const { keyIds, newKey, retire, use, signer } = await aLenderWithKeys(2);
  const on = new Date(Date.now() + DAY_MS);
  await retire(keyIds[0], on);
  expect(await signer()).toBe(keyIds[0]);
  expect(await signer(on)).toBe(keyIds[1]);
  const later = await newKey(new Date(on.getTime() + 1));
  expect(await signer(new Date(on.getTime() + 2))).toBe(keyIds[1]);
  await use(later, 0, new Date(on.getTime() + 3));
  expect(await signer(new Date(on.getTime() + 4))).toBe(later);
});

test("a lender's last valid API key cannot be revoked or retired by mistake, even if two keys are revoked concurrently", async () => {
  const { lenderId, keyIds, revoke, retire, signer } = await aLenderWithKeys(2);
  const revoked = await Promise.allSettled([revoke(keyIds[0], 0), revoke(keyIds[1], 1)]);
  expect(revoked.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(revoked.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "API_KEY_LAST" } });
  const left = (await signer())!;
  expect(keyIds).toContain(left);
  await expect(retire(left, new Date(Date.now() + DAY_MS))).rejects.toMatchObject({
    code: "API_KEY_LAST",
    keyId: left,
  });
  await transaction(database.em(), (tx) => revokeKey(tx, { lenderId, keyId: left, reason, evenIfLast: true }));
  expect(await signer()).toBeUndefined();
});

test("an API key cannot be retired at a date when no other key is valid", async () => {
  const { keyIds, retire } = await aLenderWithKeys(2);
  const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
  await retire(keyIds[0], inDays(2));
  await expect(retire(keyIds[1], inDays(3))).rejects.toMatchObject({ code: "API_KEY_LAST" });
  await retire(keyIds[1], inDays(1));
});

test("after concurrent actions on a lender's API keys in two processes, exactly one valid key signs", async () => {
  const { keyIds, newKey, use, choose, revoke, signer, lenderId } = await aLenderWithKeys(3);
  const concurrentActs = Array.from({ length: 24 }, (_, index) => {
    const keyId = keyIds[index % 3]!;
    const acts = [use, choose, revoke];
    return index % 4 === 3 ? newKey() : acts[index % 4]!(keyId, index);
  });
  await Promise.allSettled(concurrentActs);
  const signing = await signer();
  const keys = await keysOf(database.em(), lenderId);
  expect(keys.find(({ id }) => id === signing)?.state).toBe("active");
});

test("each action on an API key is recorded in the audit with its reason, and lenderOfKey returns the key's lender", async () => {
  const { lenderId, keyIds, use, choose, revoke, retire } = await aLenderWithKeys(3);
  await use(keyIds[1]);
  await choose(keyIds[0]);
  await retire(keyIds[1], new Date(Date.now() + DAY_MS));
  await revoke(keyIds[2]);
  const acts = (await actsOn(database.em(), lenderId)).map(({ act, reason, data }) => [act, reason, data["keyId"]]);
  expect(acts.toReversed().slice(1)).toEqual([
    ...keyIds.map((keyId) => ["key.created", null, keyId]),
    ["key.signing", "first use", keyIds[1]],
    ["key.signing", reason, keyIds[0]],
    ["key.retiring", reason, keyIds[1]],
    ["key.revoked", reason, keyIds[2]],
  ]);
  expect(await lenderOfKey(database.em(), keyIds[2])).toBe(lenderId);
  expect(await lenderOfKey(database.em(), "lk_nobody")).toBeUndefined();
});
