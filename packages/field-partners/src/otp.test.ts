import { createDatabase, migrate, newId, type Tx, transaction } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import {
  actsOnFieldPartner,
  createFieldPartner,
  createSignInKeys,
  forgetExpired,
  otpToSend,
  recordOtpSending,
  requestOtp,
  signedInByToken,
  suspendFieldPartner,
  verifyOtp,
} from "./index.ts";
import { fieldPartnersSchema } from "./schema.ts";
import { otpCode } from "./sign-in-keys.ts";

const schemas = [fieldPartnersSchema];
const { url } = await testDatabase("field-partners-jobs", (url) =>
  migrate({ url, schemas, jobs: true }).then(() => {}),
);
const database = await createDatabase({ url, schemas, poolMax: 12 });
await database.jobs.start();
afterAll(() => database.close());

const NOW = new Date("2026-11-21T09:00:00Z");
const MASTER_KEY = "a".repeat(64);
const keys = createSignInKeys({ masterKey: MASTER_KEY });
let phones = 0;

function inTx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
  return transaction(database.em(), work);
}

function aPhone(): string {
  phones += 1;
  return `+9198${String(20_000_000 + phones)}`;
}

function minutesLater(minutes: number): Date {
  return new Date(NOW.getTime() + minutes * 60_000);
}

async function aPerson() {
  return inTx((tx) => createFieldPartner(tx, { displayName: "Asha", phone: aPhone() }));
}

function request(phone: string, now = NOW, idempotencyKey: string = randomUUID()) {
  return inTx((tx) => requestOtp(tx, { phone, idempotencyKey }, now));
}

async function aRequested(phone: string, now = NOW): Promise<string> {
  const requested = await request(phone, now);
  if (requested.kind !== "requested") throw new Error(`No code: ${requested.kind}.`);
  return requested.otpId;
}

/** A code that somebody got on the phone. */
async function aSentCode() {
  const person = await aPerson();
  const otpId = await aRequested(person.phone);
  const { code } = (await otpToSend(database.em(), keys, otpId, NOW))!;
  await inTx((tx) => recordOtpSending(tx, { otpId, fieldPartnerId: person.id, channel: "sms" }, NOW));
  return { person, otpId, code };
}

function verify(otpId: string, code: string, more: { now?: Date; idempotencyKey?: string; with?: typeof keys } = {}) {
  const { now = NOW, idempotencyKey = randomUUID() } = more;
  const given = { otpId, code, idempotencyKey, deviceName: "Redmi" };
  return inTx((tx) => verifyOtp(tx, more.with ?? keys, given, now));
}

function anotherThan(code: string): string {
  return code === "000000" ? "000001" : "000000";
}

async function jobsOf(otpId: string): Promise<unknown[]> {
  const { rows } = await database.pool.query("select data from pgboss.job where data ->> 'otpId' = $1", [otpId]);
  return rows.map(({ data }) => data as unknown);
}

describe("a code", () => {
  test("signs in who got it, for as long as its tokens count, and leaves a trace", async () => {
    const { person, otpId, code } = await aSentCode();
    expect(code).toMatch(/^\d{6}$/);
    const signedIn = await verify(otpId, code);
    if (signedIn.kind !== "signed_in") throw new Error(signedIn.kind);
    const { tokens, sessionId } = signedIn;
    expect(tokens.accessExpiresAt).toEqual(minutesLater(15));
    expect(tokens.refreshExpiresAt).toEqual(minutesLater(30 * 24 * 60));
    const known = await signedInByToken(database.em(), tokens.accessToken, NOW);
    expect(known).toEqual({ sessionId, fieldPartner: person });
    expect(await signedInByToken(database.em(), tokens.accessToken, minutesLater(15))).toBeUndefined();
    expect(await actsOnFieldPartner(database.em(), person.id)).toMatchObject([
      { act: "session.started", data: { sessionId, by: "otp" } },
      { act: "otp.sent", data: { otpId, channel: "sms" } },
    ]);
  });

  test("counts for five minutes", async () => {
    const { otpId, code } = await aSentCode();
    expect(await verify(otpId, code, { now: minutesLater(5) })).toEqual({ kind: "expired" });
    expect(await verify(otpId, code, { now: new Date(minutesLater(5).getTime() - 1) })).toMatchObject({
      kind: "signed_in",
    });
  });

  test("is over after five wrong ones, however many come at once", async () => {
    const { otpId, code } = await aSentCode();
    const guesses = await Promise.all(Array.from({ length: 20 }, () => verify(otpId, anotherThan(code))));
    const wrong = guesses.flatMap((guess) => (guess.kind === "wrong" ? [guess.triesLeft] : []));
    expect(wrong.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
    expect(await verify(otpId, code)).toEqual({ kind: "expired" });
  });

  test("that was wrong is one try, however often the same request comes; other words under its key are another", async () => {
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

  test("signs in once, of ten who send it at the same time", async () => {
    const { otpId, code } = await aSentCode();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => verify(otpId, code)));
    expect(outcomes.filter(({ kind }) => kind === "signed_in")).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === "expired")).toHaveLength(9);
  });

  test("whose answer was lost gives the same tokens to the same request, and none to another", async () => {
    const { otpId, code } = await aSentCode();
    const idempotencyKey = randomUUID();
    const twins = await Promise.all([1, 2, 3].map(() => verify(otpId, code, { idempotencyKey })));
    expect(twins[0]).toMatchObject({ kind: "signed_in" });
    expect(twins).toEqual([twins[0], twins[0], twins[0]]);
    expect(await verify(otpId, code, { idempotencyKey, now: minutesLater(14) })).toEqual(twins[0]);
    expect(await verify(otpId, anotherThan(code), { idempotencyKey })).toEqual({ kind: "conflict" });
    expect(await verify(otpId, code)).toEqual({ kind: "expired" });
    expect(await verify(otpId, code, { idempotencyKey, now: minutesLater(15) })).toEqual({ kind: "expired" });
  });

  test("of a person who was suspended meanwhile is worth nothing", async () => {
    const { person, otpId, code } = await aSentCode();
    await inTx((tx) => suspendFieldPartner(tx, person.id, NOW));
    expect(await verify(otpId, code)).toEqual({ kind: "expired" });
  });

  test("is the same when it is sent again, nothing once it was sent, and of no use to nobody", async () => {
    const person = await aPerson();
    const otpId = await aRequested(person.phone);
    const first = await otpToSend(database.em(), keys, otpId, NOW);
    expect(first).toMatchObject({ fieldPartnerId: person.id, phone: person.phone });
    expect(await otpToSend(database.em(), keys, otpId, NOW)).toEqual(first);
    await inTx((tx) => recordOtpSending(tx, { otpId, fieldPartnerId: person.id, channel: "sms" }, NOW));
    expect(await otpToSend(database.em(), keys, otpId, NOW)).toBeUndefined();
    const late = await aRequested(person.phone);
    expect(await otpToSend(database.em(), keys, late, minutesLater(5))).toBeUndefined();
    const stranger = await aRequested(aPhone());
    expect(await otpToSend(database.em(), keys, stranger, NOW)).toBeUndefined();
    expect(await otpToSend(database.em(), keys, newId(), NOW)).toBeUndefined();
  });

  test("outlives a change of the master key", async () => {
    const { otpId, code } = await aSentCode();
    const changed = createSignInKeys({ masterKey: "b".repeat(64), previous: MASTER_KEY });
    const idempotencyKey = randomUUID();
    const signedIn = await verify(otpId, code, { idempotencyKey });
    expect(await verify(otpId, code, { idempotencyKey, with: changed })).toEqual(signedIn);
    const second = await aSentCode();
    expect(await verify(second.otpId, second.code, { with: changed })).toMatchObject({ kind: "signed_in" });
  });
});

describe("for a phone that nobody has", () => {
  test("no code is right, not even the one that would be, and it counts tries like any other", async () => {
    const otpId = await aRequested(aPhone());
    const wouldBe = otpCode(keys.otp[0]!, otpId);
    expect(await otpToSend(database.em(), keys, otpId, NOW)).toBeUndefined();
    for (const triesLeft of [4, 3, 2, 1, 0]) expect(await verify(otpId, wouldBe)).toEqual({ kind: "wrong", triesLeft });
    expect(await verify(otpId, wouldBe)).toEqual({ kind: "expired" });
  });

  test("the same statements and jobs are made as for one that somebody has", async () => {
    const statements: string[] = [];
    const onStatement = ({ text }: { text: string }) => void statements.push(text);
    // One connection: what is said once on each of them is said before.
    const traced = await createDatabase({ url, schemas, poolMax: 1, onStatement });
    await traced.jobs.start();
    const person = await aPerson();
    const traces: { texts: string[]; jobs: string[][] }[] = [];
    // A first one, so that what a connection does once is not counted.
    for (const phone of [aPhone(), person.phone, aPhone()]) {
      statements.length = 0;
      const asking = { phone, idempotencyKey: randomUUID() };
      const requested = await transaction(traced.em(), (tx) => requestOtp(tx, asking, NOW));
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

describe("asking for a code", () => {
  test("three times in 15 minutes is allowed, for each phone by itself, however many ask at once", async () => {
    const phone = aPhone();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => request(phone)));
    expect(outcomes.filter(({ kind }) => kind === "requested")).toHaveLength(3);
    expect(outcomes.filter(({ kind }) => kind === "too_many")).toHaveLength(5);
    expect(await request(phone, minutesLater(10))).toEqual({ kind: "too_many", waitMs: 300_000 });
    expect(await request(aPhone())).toMatchObject({ kind: "requested" });
    expect(await request(phone, minutesLater(15))).toMatchObject({ kind: "requested" });
  });

  test("again with the same key is the same code and one job; with another phone it is a conflict", async () => {
    const [phone, key] = [aPhone(), randomUUID()];
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => request(phone, NOW, key)));
    const [first] = outcomes;
    expect(outcomes).toEqual(outcomes.map(() => first));
    expect(first).toMatchObject({ kind: "requested", expiresAt: minutesLater(5) });
    expect(await jobsOf(first!.kind === "requested" ? first!.otpId : "")).toHaveLength(1);
    expect(await request(aPhone(), NOW, key)).toEqual({ kind: "conflict" });
    const another = randomUUID();
    const race = await Promise.all([request(aPhone(), NOW, another), request(aPhone(), NOW, another)]);
    expect(race.map(({ kind }) => kind).toSorted()).toEqual(["conflict", "requested"]);
  });

  test.each(["9800000001", "+91 98000 00001", "", "+0123456", "+9198000000011234567"])(
    "for %j is refused: it is no phone",
    async (phone) => {
      expect(await request(phone)).toEqual({ kind: "invalid_phone" });
    },
  );
});

test("the database holds neither a code nor a token, and the job nothing but an id", async () => {
  const { otpId, code } = await aSentCode();
  const signedIn = await verify(otpId, code);
  if (signedIn.kind !== "signed_in") throw new Error(signedIn.kind);
  const { rows } = await database.pool.query<{ dump: string }>(
    `select o::text || s::text || t::text || a::text || j.data::text as dump
     from field_partners.otp o, field_partners.session s join field_partners.token_pair t on t.session_id = s.id
       join field_partners.audit_entry a on a.field_partner_id = s.field_partner_id,
       pgboss.job j
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

test("codes that were asked for are forgotten after a week", async () => {
  const otpId = await aRequested(aPhone());
  await inTx((tx) => forgetExpired(tx, minutesLater(6 * 24 * 60)));
  expect(await verify(otpId, "000000")).toMatchObject({ kind: "wrong" });
  await inTx((tx) => forgetExpired(tx, minutesLater(7 * 24 * 60)));
  expect(await verify(otpId, "000000")).toEqual({ kind: "expired" });
});
