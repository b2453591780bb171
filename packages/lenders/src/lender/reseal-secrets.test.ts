import { migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import {
  createCredentials,
  createKey,
  createLender,
  createVault,
  mintRegistration,
  replaceLostMasterKey,
  resealSecrets,
  revokeKey,
  updateLender,
  type Vault,
  whatsappAccount,
  whatsappWebhook,
} from "../index.ts";
import { lendersSchema } from "../schema.ts";

const schemas = [lendersSchema];
const { url } = await testDatabase("lenders", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

const OLD = "0a".repeat(32);
const NEW = "b1".repeat(32);
const before = createVault({ masterKey: OLD });
const during = createVault({ masterKey: NEW, previous: OLD });
const after = createVault({ masterKey: NEW });

/** Deletes all lenders, and creates lenders with these codes. Each has every kind of secret. */
async function onlyLenders(codes: string[]) {
  await database.pool.query("truncate lenders.lender, lenders.api_key, lenders.audit_entry");
  const lenders = [];
  for (const code of codes)
    lenders.push(await transaction(database.em(), (tx) => createLender(tx, before, filled(code))));
  return lenders;
}

function filled(code: string) {
  return {
    code,
    name: "Acme",
    currency: "INR",
    environment: "live",
    mintLinkUrl: "https://lender.example/mint",
    mintAuthHeader: `X-Api-Key: mint-s3cret-${code}`,
    whatsappPhoneNumberId: "1234567890",
    whatsappToken: `wa-s3cret-${code}`,
    whatsappAppSecret: `app-s3cret-of-${code}`,
    whatsappVerifyToken: `verify-s3cret-${code}`,
  };
}

/** Returns every secret of the lenders, opened with this vault. */
async function secretsBy(vault: Vault, lenders: Awaited<ReturnType<typeof onlyLenders>>) {
  const credentials = createCredentials(() => database.em(), vault);
  return Promise.all(
    lenders.map(async ({ lender, apiKeyId }) => [
      (await mintRegistration(database.em(), vault, lender.id))?.authHeader?.value,
      (await whatsappAccount(database.em(), vault, lender.id))?.token,
      (await whatsappWebhook(database.em(), vault, lender.code))?.appSecret,
      (await whatsappWebhook(database.em(), vault, lender.code))?.verifyToken,
      (await credentials.byKeyId(apiKeyId))?.keyId,
      (await credentials.signingKeyOf(lender.id))?.keyId,
    ]),
  );
}

/** Returns all rows of the PostgreSQL schema as text, like a database dump. */
async function dump(): Promise<string> {
  const tables = await database.pool.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'lenders'",
  );
  const rows = await Promise.all(
    tables.rows.map(({ name }) => database.pool.query<{ row: string }>(`select t::text as row from ${name} t`)),
  );
  return rows.flatMap((table) => table.rows.map(({ row }) => row)).join("\n");
}

test("a database dump does not contain a secret in any encoding", async () => {
  const [lender] = await onlyLenders(["ACME"]);
  await transaction(database.em(), (tx) => updateLender(tx, before, lender!.lender.id, { name: "B" }));
  const text = await dump();
  expect(text, "the dump contains the rows").toContain(lender!.apiKeyId);
  const secrets = ["mint-s3cret-ACME", "wa-s3cret-ACME", lender!.hmacSecret, OLD];
  for (const secret of [...secrets, lender!.hmacSecret.slice("sk_live_".length)]) {
    const bytes = Buffer.from(secret);
    for (const form of [secret, bytes.toString("hex"), bytes.toString("base64").replace(/.?=*$/, "")]) {
      expect(text).not.toContain(form);
    }
  }
});

test("after a rotation the new master key opens every secret, and the database does not contain the old master key's id", async () => {
  const lenders = await onlyLenders(["ACME", "BETA", "CETA"]);
  const secrets = await secretsBy(before, lenders);
  expect(secrets[0]?.slice(0, 2)).toEqual(["mint-s3cret-ACME", "wa-s3cret-ACME"]);
  expect(await resealSecrets(database.em(), during)).toEqual({ resealed: 15, unreadable: [] });
  expect(await secretsBy(after, lenders)).toEqual(secrets);
  expect(await dump()).not.toContain(before.masterKeyId);
  expect(await resealSecrets(database.em(), during), "a second call").toEqual({ resealed: 0, unreadable: [] });
});

test("during a rotation, both master keys together open every secret, and the old master key alone opens those not yet resealed", async () => {
  const lenders = await onlyLenders(["ACME", "BETA"]);
  const secrets = await secretsBy(before, lenders);
  const [acme, beta] = lenders.map(({ lender }) => lender.id) as [string, string];
  const header = { mintAuthHeader: "X-Api-Key: mint-s3cret-ACME" };
  await transaction(database.em(), (tx) => updateLender(tx, during, acme, header));
  expect(await secretsBy(during, lenders)).toEqual(secrets);
  expect(await mintRegistration(database.em(), before, beta)).toMatchObject({
    authHeader: { name: "X-Api-Key" },
  });
  await expect(mintRegistration(database.em(), before, acme)).rejects.toMatchObject({
    code: "UNKNOWN_MASTER_KEY",
    masterKeyId: after.masterKeyId,
  });
  expect(await resealSecrets(database.em(), during)).toMatchObject({ resealed: 9 });
});

test("two concurrent rotations of the master key lose no secret, even while lenders are updated and API keys are created", async () => {
  const codes = Array.from({ length: 8 }, (_, index) => `RACE${index}`);
  const lenders = await onlyLenders(codes);
  const rotations = [resealSecrets(database.em(), during), resealSecrets(database.em(), during)];
  const acts = lenders.map(({ lender }) =>
    transaction(database.em(), async (tx) => {
      await updateLender(tx, during, lender.id, { whatsappToken: `fresh-${lender.code}` });
      await createKey(tx, during, { lenderId: lender.id, environment: "live" });
    }),
  );
  const [reports] = await Promise.all([Promise.all(rotations), Promise.all(acts)]);
  expect(reports.flatMap(({ unreadable }) => unreadable)).toEqual([]);
  const read = await secretsBy(after, lenders);
  expect(read.map(([header, token]) => [header, token])).toEqual(
    codes.map((code) => [`mint-s3cret-${code}`, `fresh-${code}`]),
  );
  expect(read.flat()).not.toContain(undefined);
});

test("a rotation of the master key reports each secret that cannot be decrypted, with the reason, and reseals all others", async () => {
  const lenders = await onlyLenders(["ACME", "BETA"]);
  const [acme, beta] = lenders.map(({ lender }) => lender.id) as [string, string];
  await database.pool.query(
    `update lenders.lender set whatsapp_token = (select whatsapp_token from lenders.lender where id = $1) where id = $2`,
    [acme, beta],
  );
  const report = await resealSecrets(database.em(), during);
  expect(report).toMatchObject({
    resealed: 9,
    unreadable: [{ code: "SEALED_VALUE_ALTERED", context: `lenders.lender.whatsapp_token/${beta}` }],
  });
  await expect(whatsappAccount(database.em(), during, beta)).rejects.toMatchObject({
    code: "SEALED_VALUE_ALTERED",
  });
  const strange = createVault({ masterKey: "cc".repeat(32) });
  const nothing = await resealSecrets(database.em(), strange);
  expect(nothing.resealed).toBe(0);
  expect(new Set(nothing.unreadable.map(({ code }) => code))).toEqual(new Set(["UNKNOWN_MASTER_KEY"]));
});

test("a rotation of the master key does not report a secret that cannot be decrypted if its API key is revoked or retired", async () => {
  const [acme, beta] = await onlyLenders(["ACME", "BETA"]);
  await database.pool.query(
    `update lenders.lender set mint_auth_header = null, whatsapp_token = null, whatsapp_app_secret = null,
       whatsapp_verify_token = null`,
  );
  await transaction(database.em(), (tx) => replaceLostMasterKey(tx, after));
  expect((await resealSecrets(database.em(), after)).unreadable).toHaveLength(2);
  const revoked = { lenderId: acme!.lender.id, keyId: acme!.apiKeyId, reason: "its secret cannot be decrypted" };
  await transaction(database.em(), (tx) => revokeKey(tx, { ...revoked, evenIfLast: true }));
  await database.pool.query(
    "update lenders.api_key set state = 'retiring', retires_at = now() - interval '1 second' where id = $1",
    [beta!.apiKeyId],
  );
  expect(await resealSecrets(database.em(), after)).toEqual({ resealed: 0, unreadable: [] });
});
