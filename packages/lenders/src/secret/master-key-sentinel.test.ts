import { migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, beforeEach, expect, test } from "vitest";
import {
  checkMasterKey,
  createLender,
  createVault,
  replaceLostMasterKey,
  resealSecrets,
  unreadableSecrets,
  type Vault,
  WrongMasterKeyError,
} from "../index.ts";
import { lendersSchema } from "../schema.ts";

const schemas = [lendersSchema];
const { url } = await testDatabase("lenders", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
const elsewhere = await createDatabase({ url, schemas });
afterAll(() => Promise.all([database.close(), elsewhere.close()]));

const OLD = "0a".repeat(32);
const NEW = "b1".repeat(32);
const old = createVault({ masterKey: OLD });
const fresh = createVault({ masterKey: NEW });
const both = createVault({ masterKey: NEW, previous: OLD });

beforeEach(async () => {
  await database.pool.query("truncate lenders.master_key_sentinel, lenders.lender, lenders.api_key");
});

function check(vault: Vault): Promise<void> {
  return checkMasterKey(database.em(), vault);
}

function aLender(code: string, vault: Vault) {
  const lender = { code, name: "Acme", currency: "INR", environment: "live" };
  return transaction(database.em(), (tx) => createLender(tx, vault, lender));
}

async function sentinel(): Promise<string | undefined> {
  const { rows } = await database.pool.query<{ sealed: string }>("select sealed from lenders.master_key_sentinel");
  return rows[0]?.sealed;
}

test("the first master key on an empty database is accepted, and any other key is rejected afterwards", async () => {
  await check(old);
  await check(old);
  await expect(check(fresh)).rejects.toMatchObject({ code: "WRONG_MASTER_KEY", expectedKeyId: old.masterKeyId });
  await expect(check(fresh)).rejects.toThrow(
    `The master key ${fresh.masterKeyId} is not the master key of this database: its secrets are sealed under the key ${old.masterKeyId}.`,
  );
  expect((await sentinel())?.split(":")[1]).toBe(old.masterKeyId);
});

test("if two processes first start concurrently with different master keys, exactly one of the keys is accepted", async () => {
  for (let round = 0; round < 10; round += 1) {
    await database.pool.query("truncate lenders.master_key_sentinel");
    const ended = await Promise.allSettled([
      checkMasterKey(database.em(), old),
      checkMasterKey(elsewhere.em(), fresh),
      checkMasterKey(database.em(), old),
      checkMasterKey(elsewhere.em(), fresh),
    ]);
    const accepted = ended.map(({ status }) => status === "fulfilled");
    expect([accepted[0], accepted[1]].filter(Boolean)).toHaveLength(1);
    expect(accepted.slice(2)).toEqual(accepted.slice(0, 2));
    const reasons = ended.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    expect(reasons.every((reason) => reason instanceof WrongMasterKeyError)).toBe(true);
  }
});

test("in a database with secrets but no sentinel, only a master key that opens the secrets is accepted", async () => {
  await aLender("ACME", old);
  await expect(check(fresh)).rejects.toThrow(WrongMasterKeyError);
  expect(await sentinel()).toBeUndefined();
  await check(old);
  expect((await sentinel())?.split(":")[1]).toBe(old.masterKeyId);
});

test("a first start during a rotation seals the sentinel under the master key that opens the secrets", async () => {
  await aLender("ACME", old);
  await check(both);
  await check(both);
  await check(old);
  await expect(check(fresh), "the old key is removed before the rotation").rejects.toThrow(WrongMasterKeyError);
  expect(await resealSecrets(database.em(), both)).toEqual({ resealed: 1, unreadable: [] });
  await check(fresh);
  await expect(check(old)).rejects.toThrow(WrongMasterKeyError);
});

test("without a sentinel, a master key that opens only a minority of the secrets is rejected", async () => {
  await aLender("ACME", old);
  await aLender("BETA", old);
  await aLender("GAMMA", fresh);
  await expect(check(fresh)).rejects.toThrow(WrongMasterKeyError);
  await check(old);
});

test("the right master key is accepted even if one secret was altered", async () => {
  await aLender("ACME", old);
  const { apiKeyId } = await aLender("BETA", old);
  const alter = "update lenders.api_key set secret = overlay(secret placing 'AAAA' from 20) where id = $1";
  await database.pool.query(alter, [apiKeyId]);
  await check(old);
  expect((await sentinel())?.split(":")[1]).toBe(old.masterKeyId);
});

test("during a rotation both master keys are accepted, and afterwards only the new one", async () => {
  await check(old);
  await aLender("ACME", old);
  await check(both);
  await check(createVault({ masterKey: OLD, previous: NEW }));
  await expect(check(fresh), "the old key is removed too early").rejects.toThrow(WrongMasterKeyError);
  expect(await resealSecrets(database.em(), both)).toEqual({ resealed: 1, unreadable: [] });
  await check(fresh);
  await check(both);
  await expect(check(old)).rejects.toThrow(WrongMasterKeyError);
  expect(await resealSecrets(database.em(), both), "a second call").toEqual({ resealed: 0, unreadable: [] });
  await check(fresh);
});

test("a rotation with two wrong master keys does not change the sentinel", async () => {
  await check(old);
  const before = await sentinel();
  await resealSecrets(database.em(), createVault({ masterKey: NEW, previous: "0c".repeat(32) }));
  expect(await sentinel()).toBe(before);
});

test("after a lost master key is replaced, the new one is accepted, and older secrets are listed as unreadable", async () => {
  await check(old);
  const { lender } = await aLender("ACME", old);
  await transaction(database.em(), (tx) => replaceLostMasterKey(tx, fresh));
  await check(fresh);
  await aLender("BETA", fresh);
  expect(await unreadableSecrets(database.em(), fresh)).toMatchObject([{ lenderId: lender.id, kind: "API_KEY" }]);
});
