import { z } from "zod";

/** How operators sign in to the console by an OpenID Connect provider. */
export interface ConsoleOidcSettings {
  /** The URL of the issuer, as the provider spells it. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The scopes to ask for, with blanks between them. */
  readonly scope: string;
  /** The claim with the roles, or a path to it such as `realm_access.roles`. */
  readonly rolesClaim: string;
  /** The claim with the name that the audit shows. */
  readonly nameClaim: string;
}

interface Given {
  CONSOLE_OIDC_ISSUER?: string | undefined;
  CONSOLE_OIDC_CLIENT_ID?: string | undefined;
  CONSOLE_OIDC_CLIENT_SECRET?: string | undefined;
  CONSOLE_OIDC_SCOPE: string;
  CONSOLE_OIDC_ROLES_CLAIM: string;
  CONSOLE_OIDC_NAME_CLAIM: string;
}

const REQUIRED = ["CONSOLE_OIDC_ISSUER", "CONSOLE_OIDC_CLIENT_ID", "CONSOLE_OIDC_CLIENT_SECRET"];
const OPTIONAL = ["CONSOLE_OIDC_SCOPE", "CONSOLE_OIDC_ROLES_CLAIM", "CONSOLE_OIDC_NAME_CLAIM"];
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The URL of an issuer. The address of the discovery document is made from it. */
export const oidcIssuer = z
  .url({ protocol: /^https?$/, hostname: /./, error: "takes the URL of an issuer such as https://login.example" })
  .refine((url) => !/[?#@\s]/.test(url), "takes a URL without a user name, a query or a fragment")
  // With the address of the document itself, nothing would compare the issuer in the document with the setting.
  .refine(
    (url) => !url.includes("/.well-known/"),
    "takes the URL of the issuer, without /.well-known/openid-configuration",
  )
  .optional();

/** The id or the secret of a client. */
export const oidcClientText = z
  .string()
  .regex(/^[\x20-\x7e]{1,1000}$/, "takes 1 to 1000 printable ASCII characters")
  .optional();

export const oidcScope = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, "takes scopes such as openid email profile")
  .refine((scopes) => scopes.split(" ").includes("openid"), "must contain openid")
  .default("openid email profile");

/** The name of a claim. */
export function oidcClaim(preset: string) {
  return z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, "takes the name of a claim, without spaces")
    .default(preset);
}

/** Returns the settings of the provider; undefined if operators cannot sign in by one. */
export function consoleOidc(given: Given): ConsoleOidcSettings | undefined {
  const { CONSOLE_OIDC_ISSUER: issuer, CONSOLE_OIDC_CLIENT_ID: clientId, CONSOLE_OIDC_CLIENT_SECRET: secret } = given;
  if (issuer === undefined || clientId === undefined || secret === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret: secret,
    scope: given.CONSOLE_OIDC_SCOPE,
    rolesClaim: given.CONSOLE_OIDC_ROLES_CLAIM,
    nameClaim: given.CONSOLE_OIDC_NAME_CLAIM,
  };
}

/** Returns the problems of settings that need each other, and of an issuer whose answers somebody could change. */
export function problemsOfOidc(
  given: Readonly<Record<string, string | undefined>>,
  { isProduction }: { readonly isProduction: boolean },
): string[] {
  const set = [...REQUIRED, ...OPTIONAL].filter((name) => given[name] !== undefined);
  if (set.length === 0) return [];
  const problems = [...REQUIRED, "PUBLIC_URL"]
    .filter((name) => given[name] === undefined)
    .map((name) => `${name} is required where ${set.find((one) => one !== name)} is set`);
  if (given["CONSOLE"] === "off" || (isProduction && given["CONSOLE"] === undefined)) {
    problems.push(`CONSOLE must be on where ${set[0]} is set`);
  }
  const issuer = URL.parse(given["CONSOLE_OIDC_ISSUER"] ?? "");
  if (isProduction && issuer?.protocol === "http:" && !LOOPBACK.test(issuer.hostname)) {
    problems.push("CONSOLE_OIDC_ISSUER must begin with https: where ENVIRONMENT is not a sandbox");
  }
  return problems;
}
