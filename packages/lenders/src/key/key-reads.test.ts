import { migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { directUrl, emptyDatabase, testDatabase } from "@collections/testing";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createCredentials, createKey, createLender, createVault, lenderOfKey, revokeKey } from "../index.ts";
import { lendersSchema } from "../schema.ts";

const schemas = [lendersSchema];
const { url } = await testDatabase("lenders", async (url) => void (await migrate({ url, schemas })));
const statements: (string | undefined)[] = [];
const database = await createDatabase({ url, schemas, onStatement: ({ name }) => statements.push(name) });
afterAll(() => database.close());
const vault = createVault({ masterKey: "0a".repeat(32) });
const unknownKey = `lk_${"0".repeat(24)}`;
let lendersMade = 0;

beforeEach(() => {
  statements.length = 0;
});

async function aLender() {
  lendersMade += 1;
  const lender = { code: `READ${lendersMade}`, name: "Acme", currency: "INR", environment: "sandbox" };
  const created = await transaction(database.em(), (tx) => createLender(tx, vault, lender));
  statements.length = 0;
  return created;
}

function onCluster() {
  return createCredentials(() => database.em(), vault, { isDistributed: true });
}

test("on a cluster an API key is read by its lender and its id, after a look-up in lenders.lender_of_key", async () => {
  const { apiKeyId, lender } = await aLender();
  const credential = await onCluster().byKeyId(apiKeyId);
  expect(credential).toMatchObject({ keyId: apiKeyId, keyState: "active", lender: { id: lender.id } });
  expect(statements).toEqual(["lenders.lenders-of-keys", "lenders.key-of-lender"]);
});

test("on a cluster the unknown id of an API key is looked up only in lenders.lender_of_key", async () => {
  expect(await onCluster().byKeyId(unknownKey)).toBeUndefined();
  expect(await onCluster().secretsFor(unknownKey)).toBeUndefined();
  expect(new Set(statements)).toEqual(new Set(["lenders.lenders-of-keys"]));
});

test("on a cluster the API keys of several lenders are read one lender at a time", async () => {
  const [one, other] = [await aLender(), await aLender()];
  const credentials = onCluster();
  await Promise.all([one, other].map(({ apiKeyId }) => credentials.byKeyId(apiKeyId)));
  const signing = await Promise.all([one, other].map(({ lender }) => credentials.signingKeyOf(lender.id)));
  expect(signing.map((key) => key?.keyId)).toEqual([one.apiKeyId, other.apiKeyId]);
  expect(statements).toEqual([
    "lenders.lenders-of-keys",
    "lenders.key-of-lender",
    "lenders.key-of-lender",
    "lenders.signing-keys-of-lender",
    "lenders.signing-keys-of-lender",
  ]);
});

test("the signature debugger gets an API key's own secret, then those of the lender's other keys, newest first", async () => {
  const { apiKeyId, hmacSecret, lender } = await aLender();
  const aKey = () =>
    transaction(database.em(), (tx) => createKey(tx, vault, { lenderId: lender.id, environment: "sandbox" }));
  const [middle, newest] = [await aKey(), await aKey()];
  await transaction(database.em(), (tx) =>
    revokeKey(tx, { lenderId: lender.id, keyId: middle.apiKeyId, reason: "needed for the test" }),
  );
  for (const isDistributed of [false, true]) {
    const credentials = createCredentials(() => database.em(), vault, { isDistributed });
    expect(await credentials.secretsFor(apiKeyId)).toEqual({
      keyId: apiKeyId,
      secret: hmacSecret,
      others: [newest, middle].map((key) => ({ keyId: key.apiKeyId, secret: key.hmacSecret })),
    });
  }
});

test("a new API key is added to lenders.lender_of_key in the same transaction", async () => {
  const { lender } = await aLender();
  let keyId = "";
  const failed = transaction(database.em(), async (tx) => {
    ({ apiKeyId: keyId } = await createKey(tx, vault, { lenderId: lender.id, environment: "sandbox" }));
    throw new Error("stop");
  });
  await expect(failed).rejects.toThrow("stop");
  expect(await lenderOfKey(database.em(), keyId)).toBeUndefined();
  const made = await transaction(database.em(), (tx) =>
    createKey(tx, vault, { lenderId: lender.id, environment: "sandbox" }),
  );
  const { rows } = await database.pool.query("select lender_id from lenders.lender_of_key where key_id = $1", [
    made.apiKeyId,
  ]);
  expect(rows).toEqual([{ lender_id: lender.id }]);
});

test("lenderOfKey finds API keys created before the migration, and keys created later by an older process", async () => {
  const { url: old } = await emptyDatabase();
  const before = { ...lendersSchema, migrations: lendersSchema.migrations.slice(0, 7) };
  await migrate({ url: directUrl(old), schemas: [before] });
  const upgraded = await createDatabase({ url: old, schemas });
  const insertKey = (keyId: string) =>
    upgraded.pool.query(
      `insert into lenders.api_key (lender_id, id, secret, state, signing, created_at)
       values ('018f0000-0000-7000-8000-000000000001', $1, 'sealed', 'active', false, now())`,
      [keyId],
    );
  const keysInTable = async () => {
    const { rows } = await upgraded.pool.query<{ key_id: string }>(
      "select key_id from lenders.lender_of_key order by 1",
    );
    return rows.map(({ key_id }) => key_id);
  };
  await insertKey("lk_before");
  await migrate({ url: directUrl(old), schemas });
  expect(await keysInTable()).toEqual(["lk_before"]);
  await insertKey("lk_later");
  expect(await lenderOfKey(upgraded.em(), "lk_later")).toBe("018f0000-0000-7000-8000-000000000001");
  for (const text of [...lendersSchema.beforeDistribution!, ...lendersSchema.beforeDistribution!]) {
    await upgraded.pool.query(text);
  }
  expect(await keysInTable()).toEqual(["lk_before", "lk_later"]);
  await upgraded.close();
});
