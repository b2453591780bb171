import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/settings/config.ts";
import { needsSecondPerson } from "../../src/settings/second-person.ts";
import { problemsOf } from "../fixtures/config-problems.ts";

test("a production serves the console with CONSOLE and PUBLIC_URL, a sandbox always", () => {
  const live = { ENVIRONMENT: "live", DATABASE_URL: "postgres://app@db/collections", MASTER_KEY: "AB".repeat(32) };
  expect([{}, { CONSOLE: "off" }, live].map((env) => readConfig(env).hasConsole)).toEqual([true, false, false]);
  const on = { ...live, CONSOLE: "on", PUBLIC_URL: "https://desk.example/" };
  expect(readConfig(on)).toMatchObject({ hasConsole: true, publicUrl: "https://desk.example" });
  expect(problemsOf({ ...live, CONSOLE: "on" })).toEqual([
    "PUBLIC_URL is required where CONSOLE is on and ENVIRONMENT is not a sandbox",
  ]);
});

describe("a provider of the console", () => {
  const provider = {
    CONSOLE_OIDC_ISSUER: "https://login.bank.example/realms/staff",
    CONSOLE_OIDC_CLIENT_ID: "console",
    CONSOLE_OIDC_CLIENT_SECRET: "a secret",
    PUBLIC_URL: "https://desk.example",
  };
  const live = { ENVIRONMENT: "live", DATABASE_URL: "postgres://app@db/collections", MASTER_KEY: "AB".repeat(32) };

  test("has defaults for scope and claims", () => {
    expect(readConfig({}).consoleOidc).toBeUndefined();
    expect(readConfig(provider).consoleOidc).toEqual({
      issuer: "https://login.bank.example/realms/staff",
      clientId: "console",
      clientSecret: "a secret",
      scope: "openid email profile",
      rolesClaim: "roles",
      nameClaim: "email",
    });
    expect(readConfig({ ...live, ...provider, CONSOLE: "on" }).consoleOidc).toBeDefined();
  });

  test.each([
    ["CONSOLE_OIDC_ISSUER", "CONSOLE_OIDC_CLIENT_ID"],
    ["CONSOLE_OIDC_CLIENT_ID", "CONSOLE_OIDC_ISSUER"],
    ["CONSOLE_OIDC_CLIENT_SECRET", "CONSOLE_OIDC_ISSUER"],
    ["PUBLIC_URL", "CONSOLE_OIDC_ISSUER"],
  ])("is refused without %s", (name, other) => {
    expect(problemsOf({ ...provider, [name]: "" })).toEqual([`${name} is required where ${other} is set`]);
  });

  test("is refused with only a claim, or without the console", () => {
    expect(problemsOf({ CONSOLE_OIDC_NAME_CLAIM: "sub", PUBLIC_URL: provider.PUBLIC_URL })).toEqual(
      ["ISSUER", "CLIENT_ID", "CLIENT_SECRET"].map(
        (name) => `CONSOLE_OIDC_${name} is required where CONSOLE_OIDC_NAME_CLAIM is set`,
      ),
    );
    const off = ["CONSOLE must be on where CONSOLE_OIDC_ISSUER is set"];
    expect(problemsOf({ ...provider, CONSOLE: "off" })).toEqual(off);
    expect(problemsOf({ ...live, ...provider })).toEqual(off);
  });

  test("has an https issuer in production, except on this machine", () => {
    const on = { ...live, ...provider, CONSOLE: "on" };
    expect(problemsOf({ ...on, CONSOLE_OIDC_ISSUER: "http://login.internal" })).toEqual([
      "CONSOLE_OIDC_ISSUER must begin with https: where ENVIRONMENT is not a sandbox",
    ]);
    for (const host of ["127.0.0.1:8080", "localhost", "[::1]:8080"]) {
      expect(problemsOf({ ...on, CONSOLE_OIDC_ISSUER: `http://${host}/realm` })).toEqual([]);
    }
    expect(problemsOf({ ...provider, CONSOLE_OIDC_ISSUER: "http://login.internal" })).toEqual([]);
  });

  test.each([
    ["CONSOLE_OIDC_ISSUER", "login.example", "takes the URL of an issuer such as https://login.example"],
    ["CONSOLE_OIDC_ISSUER", "https://me:x@login.example", "takes a URL without a user name, a query or a fragment"],
    ["CONSOLE_OIDC_ISSUER", "https://login.example/?a=1", "takes a URL without a user name, a query or a fragment"],
    [
      "CONSOLE_OIDC_ISSUER",
      "https://login.example/.well-known/openid-configuration",
      "takes the URL of the issuer, without /.well-known/openid-configuration",
    ],
    ["CONSOLE_OIDC_CLIENT_ID", "a\nb", "takes 1 to 1000 printable ASCII characters"],
    ["CONSOLE_OIDC_SCOPE", "email profile", "must contain openid"],
    ["CONSOLE_OIDC_SCOPE", "openid  email", "takes scopes such as openid email profile"],
    ["CONSOLE_OIDC_ROLES_CLAIM", "my roles", "takes the name of a claim, without spaces"],
    ["CONSOLE_OIDC_NAME_CLAIM", "my name", "takes the name of a claim, without spaces"],
  ])("is refused with %s=%j", (name, value, problem) => {
    expect(problemsOf({ ...provider, [name]: value })).toEqual([`${name} ${problem}`]);
  });
});

test("a currency without a limit needs a second person for every amount", () => {
  expect(readConfig({}).secondPersonAbove).toBeUndefined();
  const { secondPersonAbove: limits } = readConfig({ CONSOLE_SECOND_PERSON_ABOVE: "INR:50000, USD:500.50,JPY:0" });
  const needs = (code: string, amountMinor: bigint) =>
    needsSecondPerson(limits, { currency: currency(code), amountMinor });
  expect([needs("INR", 5_000_000n), needs("INR", 5_000_001n)]).toEqual([false, true]);
  expect([needs("USD", 50_050n), needs("USD", 50_051n), needs("JPY", 1n)]).toEqual([false, true, true]);
  expect([needs("EUR", 1n), needsSecondPerson(undefined, { currency: currency("EUR"), amountMinor: 1n })]).toEqual([
    true,
    false,
  ]);
});
