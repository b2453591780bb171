import type { CookieOptions, Response } from "express";
import type { CookieToken } from "./access.ts";

/** A cookie with a token. No script reads it. */
export interface ConsoleCookie {
  readonly name: string;
  /** The path below the path of the console. */
  readonly path: string;
  readonly sameSite: "strict" | "lax";
}

/** The cookie with the session's token. No page of another site sends it. */
export const SESSION_COOKIE: ConsoleCookie = { name: "console_session", path: "", sameSite: "strict" };

/**
 * The cookie with the token of a sign-in at the provider. Browsers send it when the provider redirects back, which they do
 * not do with a strict cookie.
 */
export const ATTEMPT_COOKIE: ConsoleCookie = { name: "console_sign_in", path: "/oidc", sameSite: "lax" };

/** Returns the token of a cookie in a `Cookie` header. */
export function tokenIn(header: string | undefined, { name }: ConsoleCookie): string | undefined {
  const cookies = (header ?? "").split(";").map((part) => part.trim());
  const value = cookies.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** Sets a cookie, or removes it. */
export function setToken(
  response: Response,
  cookie: ConsoleCookie,
  given: CookieToken | "end",
  at: { readonly home: string; readonly isSecure: boolean },
): void {
  const { name, path, sameSite } = cookie;
  const options: CookieOptions = { path: at.home + path, httpOnly: true, sameSite, secure: at.isSecure };
  if (given === "end") response.clearCookie(name, options);
  else response.cookie(name, given.token, { ...options, expires: given.expiresAt });
}
