import { createHash } from "node:crypto";
import type { Response } from "express";

/** The hosts that a page's scripts may connect to: none, or this service. */
export type MayConnect = "'none'" | "'self'";

/** Whether browsers may cache a page: `no-cache` revalidates it each time, and `no-store` is for pages with personal data. */
export type Caching = "no-cache" | "no-store";

/**
 * Sends a page. By default browsers cache it and revalidate it each time. The page loads nothing from other hosts.
 *
 * @param more directives of the Content-Security-Policy that are added, or that replace those of every page
 */
export function answerPage(
  response: Response,
  html: string,
  mayConnect: MayConnect = "'none'",
  more: Readonly<Record<string, string>> = {},
  caching: Caching = "no-cache",
): void {
  response.set({
    "Content-Security-Policy": policy(mayConnect, more),
    "Cache-Control": caching,
    ...(caching === "no-cache" && { ETag: etagOf(html) }),
  });
  response.type("html").send(html);
}

function policy(mayConnect: MayConnect, more: Readonly<Record<string, string>>): string {
  const directives = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "data:",
    "connect-src": mayConnect,
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    ...more,
  };
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources}`)
    .join("; ");
}

function etagOf(text: string): string {
  return `"${createHash("sha256").update(text).digest("base64url")}"`;
}
