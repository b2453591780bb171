import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { sessionsWaitingForLocks, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import {
  actsOn,
  commissionPlans,
  createKey,
  createLender,
  createVault,
  keysOf,
  type LenderChanges,
  lenderByCode,
  lenderById,
  lendersByIds,
  listLenders,
  mintRegistration,
  type NewLender,
  resumeLender,
  suspendLender,
  updateLender,
  whatsappAccount,
  whatsappWebhook,
} from "../index.ts";
import { lendersSchema } from "../schema.ts";

const schemas = [lendersSchema];
const { url } = await testDatabase("lenders", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());
const vault = createVault({ masterKey: "0a".repeat(32) });

function create(lender: Partial<NewLender> & { code: string }) {
  const full = { name: "Acme Finance", currency: "INR", environment: "sandbox", ...lender };
  return transaction(database.em(), (tx) => createLender(tx, vault, full));
}

function update(lenderId: string, changes: LenderChanges) {
  return transaction(database.em(), (tx) => updateLender(tx, vault, lenderId, changes));
}

test("createLender returns a key id and a secret, and the lender can then be read by code and by id", async () => {
  const { lender, apiKeyId, hmacSecret } = await create({ code: "ACME", technicalContacts: ["ops@acme.example"] });
  expect(apiKeyId).toMatch(/^lk_[0-9a-z]{24}$/);
  expect(hmacSecret).toMatch(/^sk_sandbox_[0-9a-f]{64}$/);
  expect(lender).toMatchObject({ code: "ACME", state: "active", technicalContacts: ["ops@acme.example"] });
  expect(await lenderByCode(database.em(), "ACME")).toEqual(lender);
  expect(await lenderById(database.em(), lender.id)).toEqual(lender);
  expect(await lenderByCode(database.em(), "acme")).toBeUndefined();
  const keys = await keysOf(database.em(), lender.id);
  expect(keys).toMatchObject([{ id: apiKeyId, state: "active", signing: true, lastUsedAt: null }]);
  expect(JSON.stringify([keys, await actsOn(database.em(), lender.id)])).not.toContain(hmacSecret.slice(-32));
});

test("a code that another lender has is rejected, even if both lenders are created concurrently", async () => {
  const outcomes = await Promise.allSettled([create({ code: "TWINS" }), create({ code: "TWINS" })]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const duplicate = { code: "DUPLICATE_CODE", field: "code" };
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: duplicate });
  await expect(create({ code: "TWINS" })).rejects.toMatchObject(duplicate);
});

test("mintRegistration, whatsappAccount and whatsappWebhook return the secrets, and a Lender does not contain them", async () => {
  const { lender } = await create({
    code: "SECRETS",
    mintLinkUrl: "https://lender.example/mint",
    mintAuthHeader: "X-Api-Key: mint-s3cret",
    whatsappPhoneNumberId: "1234567890",
    whatsappToken: "wa-s3cret",
    whatsappTemplate: "payment_link",
    whatsappAppSecret: "app-s3cret-of-meta",
    whatsappVerifyToken: "verify-s3cret",
  });
  const whatsapp = { hasToken: true, hasAppSecret: true, hasVerifyToken: true };
  expect(lender).toMatchObject({ hasMintAuthHeader: true, whatsapp });
  expect(JSON.stringify(lender, (_, value) => (typeof value === "bigint" ? `${value}` : value))).not.toContain(
    "s3cret",
  );
  expect(await mintRegistration(database.em(), vault, lender.id)).toEqual({
    mintLinkUrl: "https://lender.example/mint",
    authHeader: { name: "X-Api-Key", value: "mint-s3cret" },
    paymentLinkHosts: [],
  });
  expect(await whatsappAccount(database.em(), vault, lender.id)).toEqual({
    phoneNumberId: "1234567890",
    token: "wa-s3cret",
    template: { name: "payment_link", languages: [] },
  });
  expect(await whatsappWebhook(database.em(), vault, "SECRETS")).toEqual({
    lenderId: lender.id,
    appSecret: "app-s3cret-of-meta",
    verifyToken: "verify-s3cret",
  });
});

test("a lender without registered secrets has no mint registration, WhatsApp account or WhatsApp webhook", async () => {
  const { lender } = await create({ code: "BARE" });
  expect(await mintRegistration(database.em(), vault, lender.id)).toBeUndefined();
  expect(await whatsappAccount(database.em(), vault, lender.id)).toBeUndefined();
  expect(await whatsappWebhook(database.em(), vault, "BARE")).toEqual({
    lenderId: lender.id,
    appSecret: null,
    verifyToken: null,
  });
  expect(await whatsappWebhook(database.em(), vault, "NOBODY")).toBeUndefined();
  await update(lender.id, { mintLinkUrl: "https://lender.example/mint" });
  expect(await mintRegistration(database.em(), vault, lender.id)).toMatchObject({ authHeader: null });
  expect(await mintRegistration(database.em(), vault, newId())).toBeUndefined();
});

test("an update leaves other fields, and records old and new values", async () => {
  const bank = { accountNumber: "0012345678", ifsc: "HDFC0001234" };
  const { lender } = await create({ code: "UPDATED", fallbackBank: bank, rateLimits: { confirm: 9, health: 5 } });
  const updated = await update(lender.id, {
    name: "Acme Two",
    commissionPercent: "2.5",
    fallbackUpiId: "acme@okbank",
    rateLimits: { confirm: null, import: 7 },
    mintAuthHeader: "X-Api-Key: mint-s3cret",
  });
  expect(updated).toMatchObject({
    name: "Acme Two",
    commission: 25_000n,
    fallback: { upiId: "acme@okbank", bank },
    rateLimits: { health: 5, import: 7 },
  });
  expect(await lenderById(database.em(), lender.id)).toEqual(updated);
  const cleared = await update(lender.id, { fallbackBank: null, mintAuthHeader: null });
  expect(cleared).toMatchObject({ hasMintAuthHeader: false, fallback: { bank: null, upiId: "acme@okbank" } });
  const acts = await actsOn(database.em(), lender.id);
  expect(acts.map(({ act }) => act)).toEqual(["lender.updated", "lender.updated", "key.created", "lender.created"]);
  expect(acts[0]?.data).toEqual({
    fields: ["mintAuthHeader", "fallbackBank"],
    changes: { mintAuthHeader: "changed", fallbackBank: { from: bank, to: null } },
  });
  expect(acts[1]?.data["changes"]).toEqual({
    name: { from: "Acme Finance", to: "Acme Two" },
    commissionPercent: { from: "0", to: "2.5" },
    fallbackUpiId: { from: null, to: "acme@okbank" },
    rateLimits: { from: { confirm: 9, health: 5 }, to: { health: 5, import: 7 } },
    mintAuthHeader: "changed",
  });
  expect(JSON.stringify(acts)).not.toContain("s3cret");
});

test("an update to the same values leaves no audit entry", async () => {
  const { lender } = await create({ code: "SAME", commissionPercent: "2.5", technicalContacts: ["a@acme.example"] });
  const same = { commissionPercent: "2.50", technicalContacts: ["a@acme.example"], mintAuthHeader: null };
  expect(await update(lender.id, same)).toEqual(lender);
  expect((await actsOn(database.em(), lender.id)).map(({ act }) => act)).toEqual(["key.created", "lender.created"]);
});

test("an update records its reason and changes of other packages", async () => {
  const { lender } = await create({ code: "OTHERS" });
  const callback = { callbackUrl: { from: null, to: "https://acme.example/hooks" } };
  await transaction(database.em(), (tx) =>
    updateLender(tx, vault, lender.id, {}, new Date(), { reason: "asked by Acme", changeOthers: async () => callback }),
  );
  expect((await actsOn(database.em(), lender.id, 1))[0]).toMatchObject({
    act: "lender.updated",
    reason: "asked by Acme",
    data: { fields: ["callbackUrl"], changes: callback },
  });
});

test("an incomplete WhatsApp account is rejected, both for a new lender and for an update", async () => {
  const refused = { code: "REQUIRED", field: "whatsappToken" };
  await expect(create({ code: "HALF", whatsappPhoneNumberId: "1234567890" })).rejects.toMatchObject(refused);
  expect(await lenderByCode(database.em(), "HALF")).toBeUndefined();
  const account = { whatsappPhoneNumberId: "1234567890", whatsappToken: "wa-s3cret" };
  const { lender } = await create({ code: "WHOLE", ...account });
  await expect(update(lender.id, { whatsappToken: null })).rejects.toMatchObject(refused);
  expect(await whatsappAccount(database.em(), vault, lender.id)).toMatchObject({ token: "wa-s3cret" });
});

test("concurrent updates of different fields are all kept", async () => {
  const { lender } = await create({ code: "RACED" });
  await Promise.all([
    update(lender.id, { rateLimits: { confirm: 1 } }),
    update(lender.id, { rateLimits: { import: 2 } }),
    update(lender.id, { name: "Raced" }),
  ]);
  const after = await lenderById(database.em(), lender.id);
  expect(after).toMatchObject({ name: "Raced", rateLimits: { confirm: 1, import: 2 } });
});

test("lenders can be registered concurrently", async () => {
  const codes = Array.from({ length: 8 }, (_, index) => `SAME${index}`);
  await Promise.all(codes.map((code) => create({ code })));
  expect((await listLenders(database.em())).map(({ code }) => code)).toEqual(expect.arrayContaining(codes));
});

test("an action waits for a concurrent action on the same lender, but not for one on another lender", async () => {
  const [one, other] = [await create({ code: "TURN1" }), await create({ code: "TURN2" })];
  const aKey = (lenderId: string) =>
    transaction(database.em(), (tx) => createKey(tx, vault, { lenderId, environment: "sandbox" }));
  let second: Promise<unknown> | undefined;
  let isSecondDone = false;
  await transaction(database.em(), async (tx) => {
    await createKey(tx, vault, { lenderId: one.lender.id, environment: "sandbox" });
    second = aKey(one.lender.id).then(() => (isSecondDone = true));
    await expect.poll(() => sessionsWaitingForLocks(database.pool)).toBeGreaterThan(0);
    await aKey(other.lender.id);
    expect(isSecondDone).toBe(false);
  });
  await second;
  expect(await keysOf(database.em(), one.lender.id)).toHaveLength(3);
});

test(
  "an action on a lender waits for a process of the previous version, which locks the lender's row",
  { tags: "without-citus" },
  async () => {
    const { lender } = await create({ code: "OLDER" });
    const older = await database.pool.connect();
    await older.query("begin");
    await older.query("select * from lenders.lender where id = $1 for update", [lender.id]);
    const updated = update(lender.id, { rateLimits: { confirm: 1 } });
    await expect.poll(() => sessionsWaitingForLocks(database.pool)).toBeGreaterThan(0);
    await older.query(`update lenders.lender set rate_limits = '{"import": 2}' where id = $1`, [lender.id]);
    await older.query("commit");
    older.release();
    expect(await updated).toMatchObject({ rateLimits: { confirm: 1, import: 2 } });
  },
);

test("several actions on one lender in one transaction are all kept", async () => {
  const { lender } = await create({ code: "SEVERAL" });
  await transaction(database.em(), async (tx) => {
    await updateLender(tx, vault, lender.id, { name: "Several" });
    await suspendLender(tx, lender.id, "both at once");
    await createKey(tx, vault, { lenderId: lender.id, environment: "sandbox" });
  });
  expect(await lenderById(database.em(), lender.id)).toMatchObject({ name: "Several", state: "suspended" });
  expect(await keysOf(database.em(), lender.id)).toHaveLength(2);
});

test("suspending and resuming need a reason, which the audit keeps, and suspending twice has no further effect", async () => {
  const { lender } = await create({ code: "PAUSED" });
  const suspend = (reason: string) => transaction(database.em(), (tx) => suspendLender(tx, lender.id, reason));
  await expect(suspend(" ")).rejects.toMatchObject({ code: "REQUIRED", field: "reason" });
  expect(await suspend("contract ended")).toMatchObject({ state: "suspended" });
  expect(await suspend("again")).toMatchObject({ state: "suspended" });
  await transaction(database.em(), (tx) => resumeLender(tx, lender.id, "contract renewed"));
  expect(await lenderById(database.em(), lender.id)).toMatchObject({ state: "active" });
  const acts = await actsOn(database.em(), lender.id, 2);
  expect(acts.map(({ act, reason }) => [act, reason])).toEqual([
    ["lender.resumed", "contract renewed"],
    ["lender.suspended", "contract ended"],
  ]);
});

test("actions on a lender that does not exist are rejected", async () => {
  const unknown = newId();
  await expect(update(unknown, { name: "Nobody" })).rejects.toMatchObject({ code: "LENDER_NOT_FOUND" });
  const suspended = transaction(database.em(), (tx) => suspendLender(tx, unknown, "why not"));
  await expect(suspended).rejects.toMatchObject({ code: "LENDER_NOT_FOUND", lenderId: unknown });
});

test("lendersByIds, commissionPlans and listLenders each return several lenders", async () => {
  const [a, b] = [await create({ code: "SETA", commissionPercent: "1" }), await create({ code: "SETB" })];
  const ids = [a.lender.id, b.lender.id, newId(), a.lender.id];
  expect(new Set((await lendersByIds(database.em(), ids)).keys())).toEqual(new Set([a.lender.id, b.lender.id]));
  const plans = await transaction(database.em(), (tx) => commissionPlans(tx, ids));
  expect(plans).toEqual(
    new Map([
      [a.lender.id, 10_000n],
      [b.lender.id, 0n],
    ]),
  );
  const codes = (await listLenders(database.em())).map(({ code }) => code);
  expect(codes).toEqual([...codes].sort());
  expect(codes).toEqual(expect.arrayContaining(["SETA", "SETB"]));
});
