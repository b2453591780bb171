import { createHash } from "node:crypto";
import type { Response } from "express";

/** The hosts that a page's scripts may connect to: none, or this service. */
export type MayConnect = "'none'" | "'self'";

/** Sends a page. Browsers cache it and revalidate it each time. The page loads nothing from other hosts. */
export function answerPage(response: Response, html: string, mayConnect: MayConnect = "'none'"): void {
  response.set({ "Content-Security-Policy": policy(mayConnect), "Cache-Control": "no-cache", ETag: etagOf(html) });
  response.type("html").send(html);
}

function policy(mayConnect: MayConnect): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src data:",
    `connect-src ${mayConnect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function etagOf(text: string): string {
  return `"${createHash("sha256").update(text).digest("base64url")}"`;
}
