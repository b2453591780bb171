import { actingAs, migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import {
  actsOnOperators,
  createPortalLink,
  createSignInLink,
  deleteEndedSessions,
  type OperatorRole,
  revokeOperator,
  SIGN_IN_LINK_TTL_MS,
  signedInOperator,
  signInByLink,
  usableSignInLink,
} from "./index.ts";
import { operatorsSchema } from "./schema.ts";

const schemas = [operatorsSchema];
const { url } = await testDatabase("operators", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

const NOW = new Date("2026-11-21T09:00:00Z");
const DAY_MS = 24 * 60 * 60_000;

function link(name: string, ...roles: OperatorRole[]) {
  return transaction(database.em(), (tx) => createSignInLink(tx, { name, roles }, NOW));
}

function signIn(token: string, now = NOW) {
  return transaction(database.em(), (tx) => signInByLink(tx, token, now));
}

describe("a sign-in link", () => {
  test("signs in with its name and roles, once", async () => {
    const { token, expiresAt } = await link("Asha", "money", "viewer");
    expect(expiresAt).toEqual(new Date(NOW.getTime() + SIGN_IN_LINK_TTL_MS));
    const signedIn = (await signIn(token))!;
    expect(signedIn.session).toMatchObject({ name: "Asha", roles: ["viewer", "money"] });
    expect(await signedInOperator(database.em(), signedIn.token, NOW)).toEqual(signedIn.session);
    expect(await signIn(token)).toBeUndefined();
  });

  test("signs in one of ten concurrent uses", async () => {
    const { token } = await link("Ravi", "viewer");
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => signIn(token)));
    expect(outcomes.filter((outcome) => outcome !== undefined)).toHaveLength(1);
  });

  test("is refused after five minutes", async () => {
    const { token, expiresAt } = await link("Asha", "viewer");
    expect(await usableSignInLink(database.em(), token, new Date(expiresAt.getTime() - 1))).toBeDefined();
    expect(await usableSignInLink(database.em(), token, expiresAt)).toBeUndefined();
    expect(await signIn(token, expiresAt)).toBeUndefined();
  });

  test("stays usable when it is only looked at", async () => {
    const { token, expiresAt } = await link("Asha", "viewer");
    for (const _ of [1, 2]) {
      expect(await usableSignInLink(database.em(), token, NOW)).toEqual({
        lenderId: null,
        name: "Asha",
        roles: ["viewer"],
        expiresAt,
      });
    }
    expect(await signIn(token)).toBeDefined();
  });

  test("is refused after a revocation", async () => {
    const { token } = await link("Mina", "viewer");
    const revoked = await transaction(database.em(), (tx) => revokeOperator(tx, { name: "Mina" }, NOW));
    expect(revoked).toEqual({ sessions: 0, links: 1 });
    expect(await signIn(token)).toBeUndefined();
  });

  test.each(["", "opl_", `opl_${"A".repeat(43)}`, `ops_${"A".repeat(43)}`, "' or 1=1"])(
    "is not recognized in the text %j",
    async (text) => {
      expect(await usableSignInLink(database.em(), text, NOW)).toBeUndefined();
      expect(await signIn(text)).toBeUndefined();
    },
  );

  test.each(["", "  ", "a\u0000b", "a\u202Eb", "x".repeat(81)])("is not created for the name %j", async (name) => {
    await expect(link(name, "viewer")).rejects.toMatchObject({ code: "INVALID_OPERATOR" });
  });

  test("is not created without a role", async () => {
    await expect(link("Asha")).rejects.toThrow("at least one role: viewer, operator, money");
  });

  test("leaves no token in the database", async () => {
    const { token } = await link("Asha", "viewer");
    const session = (await signIn(token))!;
    const { rows } = await database.pool.query<{ row: string }>(
      `select t::text as row from operators.sign_in_link t union all select t::text from operators.session t
       union all select t::text from operators.audit_entry t`,
    );
    const texts = rows.map(({ row }) => row).join("\n");
    for (const secret of [token, session.token]) {
      expect(texts).not.toContain(secret);
      expect(texts).not.toContain(Buffer.from(secret).toString("hex"));
    }
  });
});

test("the audit names who created a link and who signed in", async () => {
  const { token } = await actingAs("operator:ops", () => link("Lata", "operator"));
  await signIn(token);
  const acts = (await actsOnOperators(database.em(), { limit: 100 })).filter(({ operator }) => operator === "Lata");
  expect(acts).toMatchObject([
    { act: "operator.signed_in", actor: "operator:Lata", data: { roles: ["operator"] } },
    { act: "operator.link_created", actor: "operator:ops", data: { roles: ["operator"] } },
  ]);
});

test("links and sessions are deleted a week after their end", async () => {
  const { token } = await link("Old", "viewer");
  await signIn(token);
  const deleteAt = (days: number) =>
    transaction(database.em(), (tx) => deleteEndedSessions(tx, new Date(NOW.getTime() + days * DAY_MS)));
  expect(await deleteAt(7)).toBe(0);
  expect(await deleteAt(7.1)).toBeGreaterThan(0);
  expect(await deleteAt(8)).toBeGreaterThan(0);
  expect(await deleteAt(8)).toBe(0);
});

describe("a link of a lender's staff", () => {
  const REQUEST = "01938f5e-7c1a-8000-a000-000000000002";
  const lenderId = "01938f5e-7c1a-7000-8000-000000000001";
  const portalLink = () =>
    transaction(database.em(), (tx) => createPortalLink(tx, { lenderId, name: "Ravi of ACME" }, NOW));

  test("starts a session that is restricted to the lender", async () => {
    const { token, expiresAt } = await portalLink();
    expect(await usableSignInLink(database.em(), token, NOW)).toMatchObject({ lenderId, expiresAt });
    const signedIn = (await signIn(token))!;
    expect(signedIn.session).toMatchObject({ name: "Ravi of ACME", lenderId });
    expect(await signedInOperator(database.em(), signedIn.token, NOW)).toMatchObject({ lenderId });
    expect(await signIn(token)).toBeUndefined();
  });

  test("has tokens that an earlier version refuses", async () => {
    const { token } = await portalLink();
    const session = (await signIn(token))!.token;
    expect([token.slice(0, 4), session.slice(0, 4)]).toEqual(["ppl_", "pps_"]);
  });

  test("is the same for a repeated request, even after the keys changed", async () => {
    const [secret, newer] = ["a", "b"].map((letter) => letter.repeat(43));
    const asked = (secrets: readonly string[]) =>
      transaction(database.em(), (tx) =>
        createPortalLink(tx, { lenderId, name: "Ravi of ACME", request: { id: REQUEST, secrets } }, NOW),
      );
    const links = await Promise.all([asked([secret!]), asked([secret!])]);
    links.push(await asked([newer!, secret!]));
    expect(new Set(links.map(({ token }) => token))).toEqual(new Set([`ppl_${secret}`]));
    expect(await signIn(links[0].token)).toBeDefined();
    expect(await signIn((await asked([secret!])).token)).toBeUndefined();
  });

  test("is ended by a revocation of its name", async () => {
    const { token } = await portalLink();
    await transaction(database.em(), (tx) => revokeOperator(tx, { name: "Ravi of ACME" }, NOW));
    expect(await signIn(token)).toBeUndefined();
  });
});
