import { migrate, transaction } from "@collections/database";
import { createDatabase, type Tx } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import {
  actsOnFieldPartner,
  createFieldPartner,
  createSignInKeys,
  endSession,
  deleteExpired,
  issueAccessToken,
  openSessionsOf,
  type RefreshOutcome,
  refreshSession,
  signedInByTokens,
  suspendFieldPartner,
  type Tokens,
} from "./index.ts";
import { fieldPartnersSchema } from "./schema.ts";
import { startSession } from "./session.ts";

const schemas = [fieldPartnersSchema];
const { url } = await testDatabase("field-partners", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas, poolMax: 12 });
afterAll(() => database.close());

const NOW = new Date("2026-11-21T09:00:00Z");
const DAY_MINUTES = 24 * 60;
const keys = createSignInKeys({ masterKey: "a".repeat(64) });
let people = 0;

function inTx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
  return transaction(database.em(), work);
}

function minutesLater(minutes: number): Date {
  return new Date(NOW.getTime() + minutes * 60_000);
}

async function aPerson(): Promise<string> {
  people += 1;
  const phone = `+9198${String(30_000_000 + people)}`;
  return (await inTx((tx) => createFieldPartner(tx, { displayName: "Asha", phone }))).id;
}

async function aSession(given?: string) {
  const fieldPartnerId = given ?? (await aPerson());
  const start = { fieldPartnerId, deviceName: "Redmi Note 12", seed: ["test", randomUUID()] };
  const { sessionId, tokens } = (await inTx((tx) => startSession(tx, keys, start, NOW)))!;
  return { fieldPartnerId, sessionId, tokens };
}

function refresh(refreshToken: string, idempotencyKey: string = randomUUID(), now = NOW, by = keys) {
  return inTx((tx) => refreshSession(tx, by, { refreshToken, idempotencyKey }, now));
}

async function refreshed(refreshToken: string, idempotencyKey?: string, now?: Date): Promise<Tokens> {
  const outcome = await refresh(refreshToken, idempotencyKey, now);
  if (outcome.kind !== "refreshed") throw new Error(`Not refreshed: ${outcome.kind}.`);
  return outcome.tokens;
}

async function signedInBy(accessToken: string, now: Date) {
  return (await signedInByTokens(database.em(), [accessToken], now)).get(accessToken);
}

async function isValid({ accessToken }: Tokens, now = NOW): Promise<boolean> {
  return (await signedInBy(accessToken, now)) !== undefined;
}

/** Returns the tokens that the refreshes issued and that are still valid. */
async function validTokensOf(outcomes: RefreshOutcome[]): Promise<Tokens[]> {
  const issued = outcomes.flatMap((outcome) => (outcome.kind === "refreshed" ? [outcome.tokens] : []));
  const validity = await Promise.all(issued.map((tokens) => isValid(tokens)));
  return issued.filter((_, index) => validity[index]);
}

describe("a refresh token", () => {
  test("is exchanged for new tokens of the same session, and the old access token stays valid until it expires", async () => {
    const { sessionId, tokens } = await aSession();
    const next = await refreshed(tokens.refreshToken, undefined, minutesLater(10));
    expect(next.refreshToken).not.toBe(tokens.refreshToken);
    expect(next).toMatchObject({
      accessToken: expect.stringMatching(/^fpt_[\w-]{43}$/),
      refreshToken: expect.stringMatching(/^fpr_[\w-]{43}$/),
      accessExpiresAt: minutesLater(25),
      refreshExpiresAt: minutesLater(30 * DAY_MINUTES + 10),
    });
    for (const { accessToken } of [tokens, next]) {
      expect(await signedInBy(accessToken, minutesLater(14))).toMatchObject({ sessionId });
    }
    expect(await isValid(tokens, minutesLater(15))).toBe(false);
    expect(await isValid(next, minutesLater(24))).toBe(true);
  });

  test("is valid for 30 days after it was issued, so that a session in use does not expire", async () => {
    const { tokens } = await aSession();
    const last = new Date(minutesLater(30 * DAY_MINUTES).getTime() - 1);
    const next = await refreshed(tokens.refreshToken, undefined, last);
    await refreshed(next.refreshToken, undefined, minutesLater(59 * DAY_MINUTES));
    const idle = await aSession();
    expect(await refresh(idle.tokens.refreshToken, undefined, minutesLater(30 * DAY_MINUTES))).toEqual({
      kind: "over",
    });
  });

  test("gives the same tokens to repeats of the same request for a day", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refreshed(tokens.refreshToken, key);
    expect(await refreshed(tokens.refreshToken, key, minutesLater(DAY_MINUTES - 1))).toEqual(next);
  });

  test("ends the session if its request is repeated after the new refresh token was used", async () => {
    const { fieldPartnerId, tokens } = await aSession();
    const key = randomUUID();
    const second = await refreshed(tokens.refreshToken, key);
    const third = await refreshed(second.refreshToken);
    expect(await refresh(tokens.refreshToken, key, minutesLater(14))).toEqual({ kind: "over" });
    expect(await isValid(third)).toBe(false);
    expect(await refresh(third.refreshToken)).toEqual({ kind: "over" });
    const [latest] = await actsOnFieldPartner(database.em(), fieldPartnerId);
    expect(latest).toMatchObject({ act: "session.ended", reason: "reused_token" });
  });

  test("ends the session if its request is repeated a day later", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refreshed(tokens.refreshToken, key);
    expect(await refresh(tokens.refreshToken, key, minutesLater(DAY_MINUTES))).toEqual({ kind: "over" });
    expect(await refresh(next.refreshToken)).toEqual({ kind: "over" });
  });

  test("that was already used ends the session if another request sends it, and the audit records this", async () => {
    const { fieldPartnerId, sessionId, tokens } = await aSession();
    const other = await aSession(fieldPartnerId);
    const second = await refreshed(tokens.refreshToken);
    const third = await refreshed(second.refreshToken);
    expect(await refresh(tokens.refreshToken)).toEqual({ kind: "over" });
    for (const ended of [tokens, second, third]) expect(await isValid(ended)).toBe(false);
    expect(await refresh(third.refreshToken)).toEqual({ kind: "over" });
    expect(await isValid(other.tokens)).toBe(true);
    const [latest] = await actsOnFieldPartner(database.em(), fieldPartnerId);
    expect(latest).toMatchObject({ act: "session.ended", reason: "reused_token", data: { sessionId } });
  });

  test("stays unused if the transaction of its request is rolled back", async () => {
    const { tokens } = await aSession();
    const [rolledBackKey, key] = [randomUUID(), randomUUID()];
    const rolledBack = inTx(async (tx) => {
      await refreshSession(tx, keys, { refreshToken: tokens.refreshToken, idempotencyKey: rolledBackKey }, NOW);
      throw new Error("roll back");
    });
    await expect(rolledBack).rejects.toThrow("roll back");
    expect(await isValid(await refreshed(tokens.refreshToken, key))).toBe(true);
  });

  test("gives the same tokens to ten concurrent equal requests", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const all = await Promise.all(Array.from({ length: 10 }, () => refreshed(tokens.refreshToken, key)));
    expect(new Set(all.map(({ refreshToken }) => refreshToken)).size).toBe(1);
    expect(await isValid(all[0]!)).toBe(true);
  });

  test("ends the session if two different requests send it concurrently", async () => {
    const { tokens } = await aSession();
    const outcomes = await Promise.all([refresh(tokens.refreshToken), refresh(tokens.refreshToken)]);
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["over", "refreshed"]);
    expect(await validTokensOf(outcomes)).toEqual([]);
  });

  test("stays unused if its request has the idempotency key of another token, and the request is a conflict", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refreshed(tokens.refreshToken, key);
    expect(await refresh(next.refreshToken, key)).toEqual({ kind: "conflict" });
    await refreshed(next.refreshToken);
  });

  test("gives the same tokens to a repeat during a rotation of the master key", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refresh(tokens.refreshToken, key);
    const changed = createSignInKeys({ masterKey: "b".repeat(64), previous: "a".repeat(64) });
    expect(await refresh(tokens.refreshToken, key, NOW, changed)).toEqual(next);
  });

  test("is rejected if it is malformed, unknown or an access token", async () => {
    const { tokens } = await aSession();
    for (const text of ["", "fpr_", `fpr_${"A".repeat(43)}`, tokens.accessToken, `${tokens.refreshToken}\n`]) {
      expect(await refresh(text)).toEqual({ kind: "over" });
    }
    await refreshed(tokens.refreshToken);
  });

  test("cannot be computed from the previous token and the idempotency key without the master key", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    await refreshed(tokens.refreshToken, key);
    const forger = createSignInKeys({ masterKey: "c".repeat(64) });
    expect(await refresh(tokens.refreshToken, key, NOW, forger)).toEqual({ kind: "over" });
  });
});

describe("a session", () => {
  test("ends when its field partner is suspended, even if it is being refreshed concurrently", async () => {
    for (const round of [1, 2, 3, 4, 5]) {
      const { fieldPartnerId, tokens } = await aSession();
      const suspend = () => inTx((tx) => suspendFieldPartner(tx, fieldPartnerId, NOW));
      const refreshNow = () => refresh(tokens.refreshToken);
      const [first, second] = round % 2 ? [suspend, refreshNow] : [refreshNow, suspend];
      const results = await Promise.all([first(), second()]);
      expect(await isValid(tokens)).toBe(false);
      expect(await validTokensOf(results.filter((result) => result !== undefined))).toEqual([]);
      expect(await refresh(tokens.refreshToken)).toEqual({ kind: "over" });
    }
  });

  test("is listed with its device until it ends, even if an operator's token started it", async () => {
    const { fieldPartnerId, sessionId, tokens } = await aSession();
    const { accessToken } = await inTx((tx) => issueAccessToken(tx, fieldPartnerId, { now: NOW }));
    const { sessionId: operators } = (await signedInBy(accessToken, NOW))!;
    await refreshed(tokens.refreshToken, undefined, minutesLater(1));
    expect(await openSessionsOf(database.em(), fieldPartnerId, NOW)).toEqual([
      expect.objectContaining({ id: operators, deviceName: null, refreshedAt: null }),
      {
        id: sessionId,
        fieldPartnerId,
        deviceName: "Redmi Note 12",
        issuedAt: NOW,
        refreshedAt: minutesLater(1),
        expiresAt: minutesLater(30 * DAY_MINUTES + 1),
      },
    ]);
    const ending = { sessionId: operators, fieldPartnerId, reason: "ended_by_owner" as const };
    expect(await inTx((tx) => endSession(tx, ending, NOW))).toBe(true);
    expect(await inTx((tx) => endSession(tx, ending, NOW))).toBe(true);
    expect((await openSessionsOf(database.em(), fieldPartnerId, NOW)).map(({ id }) => id)).toEqual([sessionId]);
    expect(await signedInBy(accessToken, NOW)).toBeUndefined();
    const acts = await actsOnFieldPartner(database.em(), fieldPartnerId);
    expect(acts.filter(({ act }) => act === "session.ended")).toHaveLength(1);
  });

  test("cannot be ended by another field partner", async () => {
    const { sessionId, tokens } = await aSession();
    const ending = { sessionId, fieldPartnerId: await aPerson(), reason: "ended_by_owner" as const };
    expect(await inTx((tx) => endSession(tx, ending, NOW))).toBe(false);
    expect(await isValid(tokens)).toBe(true);
  });

  test("is deleted a week after it expired, and each of its tokens a week after the token expired", async () => {
    const { sessionId, tokens } = await aSession();
    await refreshed(tokens.refreshToken, undefined, minutesLater(20 * DAY_MINUTES));
    const pairs = async () => {
      const { rows } = await database.pool.query("select from field_partners.token_pair where session_id = $1", [
        sessionId,
      ]);
      return rows.length;
    };
    await inTx((tx) => deleteExpired(tx, minutesLater(36 * DAY_MINUTES)));
    expect(await pairs()).toBe(2);
    await inTx((tx) => deleteExpired(tx, minutesLater(37 * DAY_MINUTES)));
    expect(await pairs()).toBe(1);
    await inTx((tx) => deleteExpired(tx, minutesLater(57 * DAY_MINUTES)));
    expect(await pairs()).toBe(0);
  });
});
