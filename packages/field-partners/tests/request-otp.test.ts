import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { actsOnFieldPartner, otpToSend, requestOtp } from "../src/index.ts";
import { anotherThan, keys, minutesLater, NOW, sampleCodes } from "./sample-codes.ts";

const { database, inTx, aPhone, aPerson, request, aRequested, aSentCode, verify, jobsOf } = await sampleCodes();
afterAll(() => database.close());

describe("a request for a code", () => {
  test("is accepted three times in 15 minutes for each phone, even with concurrent requests", async () => {
    const phone = aPhone();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => request(phone)));
    expect(outcomes.filter(({ kind }) => kind === "requested")).toHaveLength(3);
    expect(outcomes.filter(({ kind }) => kind === "too_many")).toHaveLength(5);
    expect(await request(phone, minutesLater(10))).toEqual({ kind: "too_many", waitMs: 300_000 });
    expect(await request(aPhone())).toMatchObject({ kind: "requested" });
    expect(await request(phone, minutesLater(15))).toMatchObject({ kind: "requested" });
  });

  test("that repeats a key gets the same code for the same phone, and a conflict for another phone", async () => {
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

  test("with the key of an expired code is a conflict", async () => {
    const [phone, key] = [aPhone(), randomUUID()];
    await request(phone, NOW, key);
    expect(await request(phone, minutesLater(4), key)).toMatchObject({ kind: "requested" });
    expect(await request(phone, minutesLater(5), key)).toEqual({ kind: "conflict" });
  });

  test("is rejected for a day after fifteen wrong tries, and the audit records each used-up code", async () => {
    const person = await aPerson();
    for (const phone of [person.phone, aPhone()]) {
      for (const _ of [1, 2, 3]) {
        const otpId = await aRequested(phone);
        const sent = await otpToSend(database.em(), keys, otpId, NOW);
        for (const _try of [1, 2, 3, 4, 5]) await verify(otpId, anotherThan(sent?.code ?? ""));
      }
      expect(await request(phone, minutesLater(16))).toEqual({ kind: "too_many", waitMs: (24 * 60 - 16) * 60_000 });
      expect(await request(phone, minutesLater(24 * 60))).toMatchObject({ kind: "requested" });
    }
    const acts = await actsOnFieldPartner(database.em(), person.id);
    expect(acts.filter(({ act }) => act === "otp.tries_used_up")).toHaveLength(3);
  });

  test("from a known device, which sends a refresh token of the same phone, has separate limits", async () => {
    const { person, otpId, code } = await aSentCode();
    const signedIn = await verify(otpId, code);
    if (signedIn.kind !== "signed_in") throw new Error(signedIn.kind);
    const previousRefreshToken = signedIn.tokens.refreshToken;
    for (const _ of [2, 3]) await aRequested(person.phone);
    const requestWith = (phone: string, token: string) =>
      inTx((tx) => requestOtp(tx, { phone, idempotencyKey: randomUUID(), previousRefreshToken: token }, NOW));
    expect(await request(person.phone)).toMatchObject({ kind: "too_many" });
    for (const token of ["", "fpr_", `fpr_${"A".repeat(43)}`]) {
      expect(await requestWith(person.phone, token)).toMatchObject({ kind: "too_many" });
    }
    for (const _ of [1, 2, 3])
      expect(await requestWith(person.phone, previousRefreshToken)).toMatchObject({ kind: "requested" });
    expect(await requestWith(person.phone, previousRefreshToken)).toMatchObject({ kind: "too_many" });
    const other = await aPerson();
    for (const _ of [1, 2, 3]) await aRequested(other.phone);
    expect(await requestWith(other.phone, previousRefreshToken)).toMatchObject({ kind: "too_many" });
  });

  test.each(["9800000001", "+91 98000 00001", "", "+0123456", "+9198000000011234567"])(
    "for %j is rejected, because it is not a phone number",
    async (phone) => {
      expect(await request(phone)).toEqual({ kind: "invalid_phone" });
    },
  );
});
