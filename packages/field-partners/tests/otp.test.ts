import { newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import {
  actsOnFieldPartner,
  createSignInKeys,
  deleteExpired,
  otpToSend,
  recordOtpSending,
  requestOtp,
  signedInByTokens,
  suspendFieldPartner,
  verifyOtp,
} from "../src/index.ts";
import { anotherThan, keys, MASTER_KEY, minutesLater, NOW, sampleCodes, schemas } from "./sample-codes.ts";
import { otpCode } from "../src/sign-in-keys.ts";

const { url, database, inTx, aPhone, aPerson, aRequested, aSentCode, verify, jobsOf } = await sampleCodes();
afterAll(() => database.close());

async function signedInBy(accessToken: string, now: Date) {
  return (await signedInByTokens(database.em(), [accessToken], now)).get(accessToken);
}

describe("a code", () => {
  test("signs in its recipient until the tokens expire, and the audit records it", async () => {
    const { person, otpId, code } = await aSentCode();
    expect(code).toMatch(/^\d{6}$/);
    const signedIn = await verify(otpId, code);
    if (signedIn.kind !== "signed_in") throw new Error(signedIn.kind);
    const { tokens, sessionId } = signedIn;
    expect(tokens.accessExpiresAt).toEqual(minutesLater(15));
    expect(tokens.refreshExpiresAt).toEqual(minutesLater(30 * 24 * 60));
    const known = await signedInBy(tokens.accessToken, NOW);
    expect(known).toEqual({ sessionId, fieldPartner: person });
    expect(await signedInBy(tokens.accessToken, minutesLater(15))).toBeUndefined();
    expect(await actsOnFieldPartner(database.em(), person.id)).toMatchObject([
      { act: "session.started", data: { sessionId, by: "otp" }, actor: `field_partner:${person.id}` },
      { act: "otp.sent", data: { otpId, channel: "sms" }, actor: "service" },
      { act: "field_partner.created" },
    ]);
  });

  test("is valid for five minutes", async () => {
    const { otpId, code } = await aSentCode();
    expect(await verify(otpId, code, { now: minutesLater(5) })).toEqual({ kind: "expired" });
    expect(await verify(otpId, code, { now: new Date(minutesLater(5).getTime() - 1) })).toMatchObject({
      kind: "signed_in",
    });
  });

  test("is expired after five wrong tries, even if they are concurrent", async () => {
    const { otpId, code } = await aSentCode();
    const guesses = await Promise.all(Array.from({ length: 20 }, () => verify(otpId, anotherThan(code))));
    const wrong = guesses.flatMap((guess) => (guess.kind === "wrong" ? [guess.triesLeft] : []));
    expect(wrong.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
    expect(await verify(otpId, code)).toEqual({ kind: "expired" });
  });

  test("that is wrong counts as one try, however often its request is repeated", async () => {
    const { otpId, code } = await aSentCode();
    const idempotencyKey = randomUUID();
    const repeats = Array.from({ length: 10 }, () => verify(otpId, anotherThan(code), { idempotencyKey }));
    expect(new Set((await Promise.all(repeats)).map((answer) => JSON.stringify(answer)))).toEqual(
      new Set([JSON.stringify({ kind: "wrong", triesLeft: 4 })]),
    );
    for (const triesLeft of [3, 2, 1, 0]) {
      const guess = String(Number(code) + triesLeft + 1)
        .padStart(6, "0")
        .slice(-6);
      for (const _ of ["first", "repeat"]) {
        expect(await verify(otpId, guess, { idempotencyKey })).toEqual({ kind: "wrong", triesLeft });
      }
    }
    expect(await verify(otpId, code)).toEqual({ kind: "expired" });
  });

  test("signs in once, even if ten requests send it concurrently", async () => {
    const { otpId, code } = await aSentCode();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => verify(otpId, code)));
    expect(outcomes.filter(({ kind }) => kind === "signed_in")).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === "expired")).toHaveLength(9);
  });

  test("gives the same tokens to a repeat of the same request, and none to another request", async () => {
    const { otpId, code } = await aSentCode();
    const idempotencyKey = randomUUID();
    const answers = await Promise.all([1, 2, 3].map(() => verify(otpId, code, { idempotencyKey })));
    expect(answers[0]).toMatchObject({ kind: "signed_in" });
    expect(answers).toEqual([answers[0], answers[0], answers[0]]);
    expect(await verify(otpId, code, { idempotencyKey, now: minutesLater(14) })).toEqual(answers[0]);
    expect(await verify(otpId, anotherThan(code), { idempotencyKey })).toEqual({ kind: "conflict" });
    expect(await verify(otpId, code)).toEqual({ kind: "expired" });
    expect(await verify(otpId, code, { idempotencyKey, now: minutesLater(15) })).toEqual({ kind: "expired" });
  });

  test("is expired if its field partner was suspended", async () => {
    const { person, otpId, code } = await aSentCode();
    await inTx((tx) => suspendFieldPartner(tx, person.id, NOW));
    expect(await verify(otpId, code)).toEqual({ kind: "expired" });
  });

  test("stays the same until it is sent, and is not sent if it was sent before, has expired or has no recipient", async () => {
    const person = await aPerson();
    const otpId = await aRequested(person.phone);
    const first = await otpToSend(database.em(), keys, otpId, NOW);
    expect(first).toMatchObject({ fieldPartnerId: person.id, phone: person.phone, usedChannels: [] });
    expect(await otpToSend(database.em(), keys, otpId, NOW)).toEqual(first);
    await inTx((tx) => recordOtpSending(tx, { otpId, fieldPartnerId: person.id, channel: "sms" }, NOW));
    expect(await otpToSend(database.em(), keys, otpId, NOW)).toBeUndefined();
    const late = await aRequested(person.phone);
    expect(await otpToSend(database.em(), keys, late, NOW)).toMatchObject({ usedChannels: ["sms"] });
    expect(await otpToSend(database.em(), keys, late, minutesLater(5))).toBeUndefined();
    const stranger = await aRequested(aPhone());
    expect(await otpToSend(database.em(), keys, stranger, NOW)).toBeUndefined();
    expect(await otpToSend(database.em(), keys, newId(), NOW)).toBeUndefined();
  });

  test("stays valid during a rotation of the master key", async () => {
    const { otpId, code } = await aSentCode();
    const changed = createSignInKeys({ masterKey: "b".repeat(64), previous: MASTER_KEY });
    const idempotencyKey = randomUUID();
    const signedIn = await verify(otpId, code, { idempotencyKey });
    expect(await verify(otpId, code, { idempotencyKey, with: changed })).toEqual(signedIn);
    const second = await aSentCode();
    expect(await verify(second.otpId, second.code, { with: changed })).toMatchObject({ kind: "signed_in" });
  });
});

describe("for a phone without a field partner", () => {
  test("every code counts as a wrong try, even the code that is derived from the id of the one-time password", async () => {
    const otpId = await aRequested(aPhone());
    const derivedCode = otpCode(keys.otp[0]!, otpId);
    expect(await otpToSend(database.em(), keys, otpId, NOW)).toBeUndefined();
    for (const triesLeft of [4, 3, 2, 1, 0]) {
      expect(await verify(otpId, derivedCode)).toEqual({ kind: "wrong", triesLeft });
    }
    expect(await verify(otpId, derivedCode)).toEqual({ kind: "expired" });
  });

  test("a request sends the same queries and jobs as for a phone of a field partner", async () => {
    const statements: string[] = [];
    const onStatement = ({ text }: { text: string }) => void statements.push(text);
    // With a single connection, the queries that are sent once per connection are sent before the comparison begins.
    const traced = await createDatabase({ url, schemas, poolMax: 1, onStatement });
    await traced.jobs.start();
    const person = await aPerson();
    const traces: { texts: string[]; jobs: string[][] }[] = [];
    // The first request is left out of the comparison, because it includes the queries that are sent once per
    // connection.
    for (const phone of [aPhone(), person.phone, aPhone()]) {
      statements.length = 0;
      const request = { phone, idempotencyKey: randomUUID() };
      const requested = await transaction(traced.em(), (tx) => requestOtp(tx, request, NOW));
      if (requested.kind !== "requested") throw new Error(requested.kind);
      const given = { ...requested, code: "none", idempotencyKey: randomUUID(), deviceName: null };
      await transaction(traced.em(), (tx) => verifyOtp(tx, keys, given, NOW));
      const texts = [...statements];
      traces.push({ texts, jobs: (await jobsOf(requested.otpId)).map((data) => Object.keys(data as object)) });
    }
    await traced.close();
    traces.shift();
    expect(traces[0]!.texts.length).toBeGreaterThan(8);
    expect(traces[1]).toEqual(traces[0]);
    expect(traces[0]!.jobs).toEqual([["otpId"]]);
  });
});

test("after a sign-in, neither the tables nor the job contain the code or a token", async () => {
  const { otpId, code } = await aSentCode();
  const signedIn = await verify(otpId, code);
  if (signedIn.kind !== "signed_in") throw new Error(signedIn.kind);
  const { rows } = await database.pool.query<{ dump: string }>(
    `select o::text || s::text || t::text || a::text || j.data::text as dump
     from field_partners.otp o, field_partners.session s join field_partners.token_pair t on t.session_id = s.id
       join field_partners.audit_entry a on a.field_partner_id = s.field_partner_id,
       collections_jobs.job j
     where o.id = $1 and s.id = $2 and j.data ->> 'otpId' = $1::text`,
    [otpId, signedIn.sessionId],
  );
  expect(rows.length).toBeGreaterThan(1);
  const { accessToken, refreshToken } = signedIn.tokens;
  const secrets = [code, accessToken.slice(4), refreshToken.slice(4)];
  const hex = secrets.slice(1).map((secret) => Buffer.from(secret, "base64url").toString("hex"));
  for (const secret of [...secrets, ...hex]) {
    expect(rows.filter(({ dump }) => new RegExp(`(?<![0-9a-f])${secret}(?![0-9a-f])`).test(dump))).toEqual([]);
  }
});

test("requested codes are deleted after a week", async () => {
  const otpId = await aRequested(aPhone());
  await inTx((tx) => deleteExpired(tx, minutesLater(6 * 24 * 60)));
  expect(await verify(otpId, "000000")).toMatchObject({ kind: "wrong" });
  await inTx((tx) => deleteExpired(tx, minutesLater(7 * 24 * 60)));
  expect(await verify(otpId, "000000")).toEqual({ kind: "expired" });
});
