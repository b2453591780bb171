import type { NextFunction, Request, Response } from "express";
import { isIP } from "node:net";
import type { Logger } from "pino";
import type { ProxyHeader } from "../settings/proxy-header.ts";

const MOST_LOGGED = 100;

/** A quoted string, or characters other than separators. RFC 7239, section 4. */
const FORWARDED_PAIR = /([a-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))\s*([;,]|$)/gi;

/**
 * Returns the hops of a header in the form of `X-Forwarded-For`: separated by commas. Ports, brackets and quotes of addresses
 * are removed. A hop that is not an address, such as `unknown`, stays unchanged.
 */
export function hopsOf(text: string, header: ProxyHeader): string {
  const hops =
    header === "forwarded"
      ? Array.from(text.matchAll(FORWARDED_PAIR), ([, name, quoted, token]) =>
          name!.toLowerCase() === "for" ? (quoted ?? token!) : undefined,
        ).filter((hop) => hop !== undefined)
      : text.split(",");
  return hops.map((hop) => withoutPort(hop.trim())).join(", ");
}

/** `203.0.113.7:51234`, `[2001:db8::1]:51234` and `[2001:db8::1]` have one form. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

/**
 * Makes a handler that gives `request.ip` the client's address. Express compares whole hops with the addresses of the
 * trusted proxies, so a port would make a hop unreadable, and all clients would count as the proxy. The first such
 * client is logged.
 */
export function readForwardedFor(header: ProxyHeader, log: Logger) {
  let isLogged = false;
  return (request: Request, _: Response, next: NextFunction): void => {
    const given = request.headers[header];
    delete request.headers["x-forwarded-for"];
    if (given !== undefined) request.headers["x-forwarded-for"] = hopsOf(String(given), header);
    if (!isLogged && isIP(request.ip ?? "") === 0) {
      isLogged = true;
      log.warn(
        { header, hop: request.ip?.slice(0, MOST_LOGGED) },
        "a trusted proxy names a client by something other than an address: such clients count as the proxy (logged once)",
      );
    }
    next();
  };
}
