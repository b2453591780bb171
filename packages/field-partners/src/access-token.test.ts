import { migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { directUrl, emptyDatabase, testDatabase } from "@collections/testing";
import { createHash } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import {
  createFieldPartner,
  deleteExpired,
  endSession,
  issueAccessToken,
  resumeFieldPartner,
  signedInByTokens,
  suspendFieldPartner,
} from "./index.ts";
import { fieldPartnersSchema } from "./schema.ts";

const schemas = [fieldPartnersSchema];
const { url } = await testDatabase("field-partners", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

const asha = await transaction(database.em(), (tx) =>
  createFieldPartner(tx, { displayName: "Asha", phone: "+919800000001" }),
);
const NOW = new Date("2026-11-21T09:00:00Z");
const DAY_MS = 24 * 60 * 60 * 1000;

async function signedInBy(on: Database, accessToken: string, now = NOW) {
  return (await signedInByTokens(on.em(), [accessToken], now)).get(accessToken);
}

async function whose(accessToken: string, now = NOW) {
  return (await signedInBy(database, accessToken, now))?.fieldPartner;
}

function issue() {
  return transaction(database.em(), (tx) => issueAccessToken(tx, asha.id, { now: NOW }));
}

test("an access token from an operator is valid for 24 hours", async () => {
  const { accessToken, expiresAt } = await issue();
  expect(accessToken).toMatch(/^fpt_[A-Za-z0-9_-]{43}$/);
  expect(expiresAt).toEqual(new Date(NOW.getTime() + DAY_MS));
  expect(await whose(accessToken)).toEqual(asha);
  const lastMoment = new Date(expiresAt.getTime() - 1);
  expect(await whose(accessToken, lastMoment)).toEqual(asha);
  expect(await whose(accessToken, expiresAt)).toBeUndefined();
});

test("an unknown token, and a text that is not a token, are not valid", async () => {
  const { accessToken } = await issue();
  const unknown = `${accessToken.slice(0, -4)}AAAA`;
  for (const text of ["", "fpt_", unknown, accessToken.toUpperCase(), `${accessToken}\n`, ` ${accessToken}`]) {
    expect(await whose(text)).toBeUndefined();
  }
});

test("the token of an ended session is not valid, and other tokens of the same field partner still are", async () => {
  const [lost, kept] = [await issue(), await issue()];
  const { sessionId } = (await signedInBy(database, lost.accessToken))!;
  const end = { sessionId, fieldPartnerId: asha.id, reason: "signed_out" as const };
  await transaction(database.em(), (tx) => endSession(tx, end, NOW));
  expect(await whose(lost.accessToken)).toBeUndefined();
  expect(await whose(kept.accessToken)).toEqual(asha);
});

test("the tokens of a suspended field partner are not valid, and stay invalid after the suspension ends", async () => {
  const { accessToken } = await issue();
  await transaction(database.em(), (tx) => suspendFieldPartner(tx, asha.id, NOW));
  expect(await whose(accessToken)).toBeUndefined();
  await expect(issue()).rejects.toMatchObject({ code: "FIELD_PARTNER_NOT_FOUND" });
  await transaction(database.em(), (tx) => resumeFieldPartner(tx, asha.id));
  expect(await whose(accessToken)).toBeUndefined();
});

test("an unknown field partner gets no token", async () => {
  const issued = transaction(database.em(), (tx) => issueAccessToken(tx, newId()));
  await expect(issued).rejects.toMatchObject({ code: "FIELD_PARTNER_NOT_FOUND" });
});

test("the database contains the SHA-256 of a token and not the token", async () => {
  const { accessToken } = await issue();
  const { rows } = await database.pool.query(
    "select t::text as dump, access_token_hash from field_partners.token_pair t",
  );
  const hash = createHash("sha256").update(accessToken).digest();
  expect(rows.some((row) => hash.equals(row.access_token_hash))).toBe(true);
  const random = Buffer.from(accessToken.slice(4), "base64url").toString("hex");
  const texts = [accessToken, accessToken.slice(4), random, Buffer.from(accessToken).toString("hex")];
  expect(rows.filter((row) => texts.some((text) => row.dump.includes(text)))).toEqual([]);
});

test("a session is deleted a week after it expired, and not earlier", async () => {
  const { accessToken, expiresAt } = await issue();
  const afterDays = (days: number) => new Date(expiresAt.getTime() + days * DAY_MS);
  await transaction(database.em(), (tx) => deleteExpired(tx, afterDays(6)));
  expect(await whose(accessToken)).toEqual(asha);
  expect(await transaction(database.em(), (tx) => deleteExpired(tx, afterDays(7)))).toBeGreaterThan(0);
  expect(await whose(accessToken)).toBeUndefined();
});

test("a token that was issued before the migration to sign-in by phone is still valid after the migration", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const before = { ...fieldPartnersSchema, migrations: fieldPartnersSchema.migrations.slice(0, 1) };
  await migrate({ url, schemas: [before] });
  const later = await createDatabase({ url, schemas });
  const accessToken = `fpt_${"A".repeat(43)}`;
  const hash = createHash("sha256").update(accessToken).digest();
  const { id, displayName, phone, timeZone } = asha;
  const person = [id, displayName, phone, timeZone, "active", NOW];
  await later.pool.query("insert into field_partners.field_partner values ($1, $2, $3, $4, $5, $6)", person);
  const expiresAt = new Date(NOW.getTime() + DAY_MS);
  const sessionId = "0192f0a1-7c3e-7d42-9c55-0b2f6a1d8e01";
  const session = [sessionId, id, hash, NOW, expiresAt];
  await later.pool.query("insert into field_partners.session values ($1, $2, $3, $4, $5)", session);
  await migrate({ url, schemas });
  expect(await signedInBy(later, accessToken)).toMatchObject({ sessionId, fieldPartner: { id } });
  expect(await signedInBy(later, accessToken, expiresAt)).toBeUndefined();
  await later.close();
});
