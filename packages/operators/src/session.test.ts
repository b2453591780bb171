import { actingAs, migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import {
  actsOnOperators,
  createSignInLink,
  endOperatorSession,
  openOperatorSessions,
  revokeOperator,
  signedInOperator,
  signInByLink,
} from "./index.ts";
import { operatorsSchema } from "./schema.ts";

const schemas = [operatorsSchema];
const { url } = await testDatabase("operator-sessions", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

const NOW = new Date("2026-11-21T09:00:00Z");
const HOUR_MS = 60 * 60_000;

function later(ms: number): Date {
  return new Date(NOW.getTime() + ms);
}

async function signedIn(name: string) {
  return transaction(database.em(), async (tx) => {
    const { token } = await createSignInLink(tx, { name, roles: ["viewer"] }, NOW);
    return (await signInByLink(tx, token, NOW))!;
  });
}

function operatorOf(token: string, now = NOW) {
  return signedInOperator(database.em(), token, now);
}

describe("a session", () => {
  test("ends twelve hours after the sign-in", async () => {
    const { token, session } = await signedIn("Asha");
    expect(session.expiresAt).toEqual(later(12 * HOUR_MS));
    expect(await operatorOf(token, later(12 * HOUR_MS - 1))).toMatchObject({ name: "Asha" });
    expect(await operatorOf(token, session.expiresAt)).toBeUndefined();
  });

  test("ends when the operator signs out, and the audit has one entry", async () => {
    const { token } = await signedIn("Ravi");
    for (const _ of [1, 2]) await transaction(database.em(), (tx) => endOperatorSession(tx, token, NOW));
    expect(await operatorOf(token)).toBeUndefined();
    const acts = await actsOnOperators(database.em(), { act: "operator.signed_out", limit: 10 });
    expect(acts).toMatchObject([{ operator: "Ravi", actor: "operator:Ravi" }]);
  });

  test("records at most once a minute when it was last seen", async () => {
    const { token } = await signedIn("Mina");
    const seenAt = async (ms: number) => {
      await operatorOf(token, later(ms));
      return (await operatorOf(token, later(ms)))!.lastSeenAt;
    };
    expect(await seenAt(59_000)).toEqual(NOW);
    expect(await seenAt(60_000)).toEqual(later(60_000));
    expect(await seenAt(90_000)).toEqual(later(60_000));
  });

  test.each(["", "ops_", `ops_${"A".repeat(43)}`, "null"])("does not exist for the text %j", async (text) => {
    expect(await operatorOf(text)).toBeUndefined();
  });
});

describe("revokeOperator", () => {
  test("ends all sessions of a name, and no others", async () => {
    const [first, second, other] = [await signedIn("Lata"), await signedIn("Lata"), await signedIn("Lata2")];
    const revoked = await actingAs("operator:ops", () =>
      transaction(database.em(), (tx) => revokeOperator(tx, { name: "Lata", reason: "Left" }, NOW)),
    );
    expect(revoked).toEqual({ sessions: 2, links: 0 });
    expect([await operatorOf(first.token), await operatorOf(second.token)]).toEqual([undefined, undefined]);
    expect(await operatorOf(other.token)).toBeDefined();
    const open = await openOperatorSessions(database.em(), NOW);
    expect(open.filter(({ name }) => name.startsWith("Lata")).map(({ name }) => name)).toEqual(["Lata2"]);
    expect(
      await actsOnOperators(database.em(), { act: "operator.revoked", actor: "operator:ops", limit: 10 }),
    ).toMatchObject([{ operator: "Lata", reason: "Left", data: { sessions: 2, links: 0 } }]);
  });

  test("ends one session, and records nothing if there is none", async () => {
    const [lost, kept] = [await signedIn("Two"), await signedIn("Two")];
    const revoke = () =>
      transaction(database.em(), (tx) => revokeOperator(tx, { name: "Two", sessionId: lost.session.id }, NOW));
    expect(await revoke()).toEqual({ sessions: 1, links: 0 });
    expect(await revoke()).toEqual({ sessions: 0, links: 0 });
    expect([await operatorOf(lost.token), (await operatorOf(kept.token))?.name]).toEqual([undefined, "Two"]);
    const acts = await actsOnOperators(database.em(), { act: "operator.revoked", limit: 100 });
    expect(acts.filter(({ operator }) => operator === "Two")).toHaveLength(1);
  });

  test("ends the session of a concurrent sign-in, or its link", async () => {
    for (const round of Array.from({ length: 8 }, (_, number) => `Race ${number}`)) {
      const { token } = await transaction(database.em(), (tx) =>
        createSignInLink(tx, { name: round, roles: ["viewer"] }, NOW),
      );
      const [signed] = await Promise.all([
        transaction(database.em(), (tx) => signInByLink(tx, token, NOW)),
        transaction(database.em(), (tx) => revokeOperator(tx, { name: round }, NOW)),
      ]);
      const again = await transaction(database.em(), (tx) => signInByLink(tx, token, NOW));
      const open = signed && (await operatorOf(signed.token));
      // A sign-in that begins after the revocation finds no link; one that commits before it is ended.
      expect([again, open]).toEqual([undefined, undefined]);
    }
  });
});

test("the audit is listed by kind, actor and time, in pages", async () => {
  const all = await actsOnOperators(database.em(), { limit: 1_000 });
  const [first] = await actsOnOperators(database.em(), { limit: 1 });
  expect(first).toEqual(all[0]);
  const older = await actsOnOperators(database.em(), { limit: 1_000, before: first!.id });
  expect(older).toEqual(all.slice(1));
  expect(await actsOnOperators(database.em(), { act: "operator_", limit: 10 })).toEqual([]);
  expect(await actsOnOperators(database.em(), { since: new Date("2100-01-01"), limit: 10 })).toEqual([]);
});
