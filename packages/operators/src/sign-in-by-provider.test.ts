import { randomUUID } from "node:crypto";
import { migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { actsOnOperators } from "./audit.ts";
import { isProviderOperatorName } from "./operator-name.ts";
import { operatorsSchema } from "./schema.ts";
import { openOperatorSessions, revokeOperator, signedInOperator } from "./session.ts";
import { type ProviderSignIn, signInByProvider } from "./sign-in-by-provider.ts";
import { createSignInLink } from "./sign-in-link.ts";

const schemas = [operatorsSchema];
const { url } = await testDatabase("provider-sign-in", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());
const em = () => database.em();

const NOW = new Date("2026-11-29T09:00:00Z");
const ASHA = { issuer: "https://login.bank.example/realms/staff", subject: "s-1", name: "asha@bank.example" };

function signIn(given: Partial<ProviderSignIn> = {}) {
  const confirmed = { ...ASHA, attemptId: randomUUID(), roles: ["viewer"], ...given };
  return transaction(em(), (tx) => signInByProvider(tx, confirmed, NOW));
}

describe("signInByProvider", () => {
  test("starts a session for twelve hours under the provider's name", async () => {
    const signedIn = (await signIn({ roles: ["money", "admin", "viewer", "viewer"] }))!;
    expect(signedIn.session).toMatchObject({
      name: "asha@bank.example via login.bank.example",
      roles: ["viewer", "money"],
      lenderId: null,
      expiresAt: new Date(NOW.getTime() + 12 * 3_600_000),
    });
    expect(await signedInOperator(em(), signedIn.token, NOW)).toEqual(signedIn.session);
    const [act] = await actsOnOperators(em(), { act: "operator.signed_in", limit: 1 });
    const { issuer, subject } = ASHA;
    expect(act).toMatchObject({ actor: `operator:${signedIn.session.name}`, data: { issuer, subject } });
  });

  test("signs in once for an attempt, also concurrently", async () => {
    const attemptId = randomUUID();
    const signedIn = await Promise.all(
      Array.from({ length: 6 }, () => signIn({ attemptId, name: "once@bank.example" })),
    );
    expect(signedIn.filter(Boolean)).toHaveLength(1);
    const open = await openOperatorSessions(em(), NOW);
    expect(open.filter(({ name }) => name.startsWith("once@"))).toHaveLength(1);
  });

  test.each([
    ["no role", { roles: [] }, "at least one role"],
    ["only unknown roles", { roles: ["admin", "Viewer"] }, "at least one role"],
    ["an empty name", { name: " " }, "1 to 200 characters"],
    ["a name with a line break", { name: "a\nb" }, "without control characters"],
    ["a name that is too long", { name: "x".repeat(190) }, "1 to 200 characters"],
  ])("refuses %s, and the attempt stays unused", async (_, given, message) => {
    const attemptId = randomUUID();
    await expect(signIn({ attemptId, ...given })).rejects.toThrow(message);
    expect(await signIn({ attemptId })).toBeDefined();
  });

  test("gives names that no sign-in link can have", async () => {
    const { session } = (await signIn({ name: "Asha" }))!;
    expect(session.name).toBe("Asha via login.bank.example");
    for (const name of [session.name, ` ${session.name} `, "Asha via LOGIN.bank.example:8443"]) {
      const link = transaction(em(), (tx) => createSignInLink(tx, { name, roles: ["viewer"] }, NOW));
      await expect(link).rejects.toMatchObject({ code: "INVALID_OPERATOR" });
    }
    const other = await transaction(em(), (tx) => createSignInLink(tx, { name: "Asha via", roles: ["viewer"] }, NOW));
    expect(other.token).toMatch(/^opl_/);
  });
});

test("revokeOperator ends the sessions of a provider's operator", async () => {
  const { token, session } = (await signIn({ name: "left@bank.example" }))!;
  const revoked = await transaction(em(), (tx) => revokeOperator(tx, { name: session.name }, NOW));
  expect(revoked).toEqual({ sessions: 1, links: 0 });
  expect(await signedInOperator(em(), token, NOW)).toBeUndefined();
});

test.each([
  ["asha@bank.example via login.bank.example", true],
  ["asha@bank.example via other.example", false],
  ["asha@bank.example", false],
])("the name %j belongs to the provider: %s", (name, isProviders) => {
  expect(isProviderOperatorName(name, ASHA.issuer)).toBe(isProviders);
});
