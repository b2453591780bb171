import type { CookieOptions } from "express";

/** The name of the cookie with the session's token. */
export const SESSION_COOKIE = "console_session";

/** Returns the session's token in a `Cookie` header. */
export function sessionTokenIn(header: string | undefined): string | undefined {
  const cookies = (header ?? "").split(";").map((part) => part.trim());
  return cookies.find((part) => part.startsWith(`${SESSION_COOKIE}=`))?.slice(SESSION_COOKIE.length + 1);
}

/** Returns the attributes of the cookie: no script reads it, and no page of another site sends it. */
export function cookieOptions(base: string, isSecure: boolean): CookieOptions {
  return { path: `${base}/console`, httpOnly: true, sameSite: "strict", secure: isSecure };
}
