import { createDatabase, migrate, type Tx, transaction } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import {
  actsOnFieldPartner,
  createFieldPartner,
  createSignInKeys,
  endSession,
  forgetExpired,
  issueAccessToken,
  openSessionsOf,
  type RefreshOutcome,
  refreshSession,
  signedInByToken,
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

async function counts({ accessToken }: Tokens, now = NOW): Promise<boolean> {
  return (await signedInByToken(database.em(), accessToken, now)) !== undefined;
}

/** Of what refreshing gave, the tokens that count. */
async function countingOf(outcomes: RefreshOutcome[]): Promise<Tokens[]> {
  const given = outcomes.flatMap((outcome) => (outcome.kind === "refreshed" ? [outcome.tokens] : []));
  const counting = await Promise.all(given.map((tokens) => counts(tokens)));
  return given.filter((_, place) => counting[place]);
}

describe("a refresh token", () => {
  test("gives new tokens, in the same session; the access token before it counts to its own end", async () => {
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
      expect(await signedInByToken(database.em(), accessToken, minutesLater(14))).toMatchObject({ sessionId });
    }
    expect(await counts(tokens, minutesLater(15))).toBe(false);
    expect(await counts(next, minutesLater(24))).toBe(true);
  });

  test("counts for 30 days from its issue, so that a session lives as long as it is used", async () => {
    const { tokens } = await aSession();
    const last = new Date(minutesLater(30 * DAY_MINUTES).getTime() - 1);
    const next = await refreshed(tokens.refreshToken, undefined, last);
    await refreshed(next.refreshToken, undefined, minutesLater(59 * DAY_MINUTES));
    const idle = await aSession();
    expect(await refresh(idle.tokens.refreshToken, undefined, minutesLater(30 * DAY_MINUTES))).toEqual({
      kind: "over",
    });
  });

  test("whose answer was lost gives the same tokens to the same request for a day", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refreshed(tokens.refreshToken, key);
    expect(await refreshed(tokens.refreshToken, key, minutesLater(DAY_MINUTES - 1))).toEqual(next);
  });

  test("whose request somebody has copied ends the session as soon as its owner comes after the thief", async () => {
    const { fieldPartnerId, tokens } = await aSession();
    const key = randomUUID();
    const second = await refreshed(tokens.refreshToken, key);
    const third = await refreshed(second.refreshToken);
    expect(await refresh(tokens.refreshToken, key, minutesLater(14))).toEqual({ kind: "over" });
    expect(await counts(third)).toBe(false);
    expect(await refresh(third.refreshToken)).toEqual({ kind: "over" });
    const [latest] = await actsOnFieldPartner(database.em(), fieldPartnerId);
    expect(latest).toMatchObject({ act: "session.ended", reason: "reused_token" });
  });

  test("that comes back a day later, also in the same request, ends the session", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refreshed(tokens.refreshToken, key);
    expect(await refresh(tokens.refreshToken, key, minutesLater(DAY_MINUTES))).toEqual({ kind: "over" });
    expect(await refresh(next.refreshToken)).toEqual({ kind: "over" });
  });

  test("of which somebody has a copy ends the session for both, at once, and this is kept", async () => {
    const { fieldPartnerId, sessionId, tokens } = await aSession();
    const other = await aSession(fieldPartnerId);
    const second = await refreshed(tokens.refreshToken);
    const third = await refreshed(second.refreshToken);
    expect(await refresh(tokens.refreshToken)).toEqual({ kind: "over" });
    for (const dead of [tokens, second, third]) expect(await counts(dead)).toBe(false);
    expect(await refresh(third.refreshToken)).toEqual({ kind: "over" });
    expect(await counts(other.tokens)).toBe(true);
    const [latest] = await actsOnFieldPartner(database.em(), fieldPartnerId);
    expect(latest).toMatchObject({ act: "session.ended", reason: "reused_token", data: { sessionId } });
  });

  test("of a request that was broken off before its commit is as good as before", async () => {
    const { tokens } = await aSession();
    const [broken, key] = [randomUUID(), randomUUID()];
    const killed = inTx(async (tx) => {
      await refreshSession(tx, keys, { refreshToken: tokens.refreshToken, idempotencyKey: broken }, NOW);
      throw new Error("killed");
    });
    await expect(killed).rejects.toThrow("killed");
    expect(await counts(await refreshed(tokens.refreshToken, key))).toBe(true);
  });

  test("sent by ten equal requests at once gives all of them the same tokens", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const all = await Promise.all(Array.from({ length: 10 }, () => refreshed(tokens.refreshToken, key)));
    expect(new Set(all.map(({ refreshToken }) => refreshToken)).size).toBe(1);
    expect(await counts(all[0]!)).toBe(true);
  });

  test("sent by two different requests at once ends the session: one of them is a thief's", async () => {
    const { tokens } = await aSession();
    const outcomes = await Promise.all([refresh(tokens.refreshToken), refresh(tokens.refreshToken)]);
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["over", "refreshed"]);
    expect(await countingOf(outcomes)).toEqual([]);
  });

  test("with a key that was for another token is a conflict, and stays good", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refreshed(tokens.refreshToken, key);
    expect(await refresh(next.refreshToken, key)).toEqual({ kind: "conflict" });
    await refreshed(next.refreshToken);
  });

  test("answers a repeat also while the master key is being changed", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    const next = await refresh(tokens.refreshToken, key);
    const changed = createSignInKeys({ masterKey: "b".repeat(64), previous: "a".repeat(64) });
    expect(await refresh(tokens.refreshToken, key, NOW, changed)).toEqual(next);
  });

  test("that is none, unknown, or an access token, gives nothing", async () => {
    const { tokens } = await aSession();
    for (const text of ["", "fpr_", `fpr_${"A".repeat(43)}`, tokens.accessToken, `${tokens.refreshToken}\n`]) {
      expect(await refresh(text)).toEqual({ kind: "over" });
    }
    await refreshed(tokens.refreshToken);
  });

  test("is not to be computed from the one before and the key of the request", async () => {
    const { tokens } = await aSession();
    const key = randomUUID();
    await refreshed(tokens.refreshToken, key);
    const forger = createSignInKeys({ masterKey: "c".repeat(64) });
    expect(await refresh(tokens.refreshToken, key, NOW, forger)).toEqual({ kind: "over" });
  });
});

describe("a session", () => {
  test("ends at once when its field partner is suspended, also one that is being refreshed", async () => {
    for (const round of [1, 2, 3, 4, 5]) {
      const { fieldPartnerId, tokens } = await aSession();
      const suspend = () => inTx((tx) => suspendFieldPartner(tx, fieldPartnerId, NOW));
      const renew = () => refresh(tokens.refreshToken);
      const [first, second] = round % 2 ? [suspend, renew] : [renew, suspend];
      const results = await Promise.all([first(), second()]);
      expect(await counts(tokens)).toBe(false);
      expect(await countingOf(results.filter((result) => result !== undefined))).toEqual([]);
      expect(await refresh(tokens.refreshToken)).toEqual({ kind: "over" });
    }
  });

  test("is listed with its device until it ends; the operator's token is one too", async () => {
    const { fieldPartnerId, sessionId, tokens } = await aSession();
    const { accessToken } = await inTx((tx) => issueAccessToken(tx, fieldPartnerId, { now: NOW }));
    const { sessionId: operators } = (await signedInByToken(database.em(), accessToken, NOW))!;
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
    expect(await signedInByToken(database.em(), accessToken, NOW)).toBeUndefined();
    const acts = await actsOnFieldPartner(database.em(), fieldPartnerId);
    expect(acts.filter(({ act }) => act === "session.ended")).toHaveLength(1);
  });

  test("of somebody else is not there to be ended", async () => {
    const { sessionId, tokens } = await aSession();
    const ending = { sessionId, fieldPartnerId: await aPerson(), reason: "ended_by_owner" as const };
    expect(await inTx((tx) => endSession(tx, ending, NOW))).toBe(false);
    expect(await counts(tokens)).toBe(true);
  });

  test("is forgotten a week after its end with all its tokens, and its oldest tokens before that", async () => {
    const { sessionId, tokens } = await aSession();
    await refreshed(tokens.refreshToken, undefined, minutesLater(20 * DAY_MINUTES));
    const pairs = async () => {
      const { rows } = await database.pool.query("select from field_partners.token_pair where session_id = $1", [
        sessionId,
      ]);
      return rows.length;
    };
    await inTx((tx) => forgetExpired(tx, minutesLater(36 * DAY_MINUTES)));
    expect(await pairs()).toBe(2);
    await inTx((tx) => forgetExpired(tx, minutesLater(37 * DAY_MINUTES)));
    expect(await pairs()).toBe(1);
    await inTx((tx) => forgetExpired(tx, minutesLater(57 * DAY_MINUTES)));
    expect(await pairs()).toBe(0);
  });
});
