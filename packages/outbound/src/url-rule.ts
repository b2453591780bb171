import { isIP } from "node:net";
import { forbiddenRange } from "./address-rule.ts";
import { type AllowList, isListed, portOf } from "./allow-list.ts";

/**
 * The longest URL that is accepted.
 *
 * @example
 * const callbackUrlSchema = { type: "string", format: "uri", maxLength: MAX_URL_CHARS };
 */
export const MAX_URL_CHARS = 2048;

/** Names that standards reserve for use outside the public internet (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`). */
const NEVER_PUBLIC_NAMES = ["localhost", "local", "internal", "home.arpa"];
/** At least two labels of at most 63 characters, with or without a dot at the end. The DNS has no other host names. */
const FULL_DOMAIN_NAME = /^(?=.{1,253}\.?$)([a-z0-9_-]{1,63}\.)+[a-z0-9_-]{1,63}\.?$/;

/** A URL that may be called, or the reason why not: a sentence for the person who registers it. */
export type UrlVerdict = { ok: true; url: URL } | { ok: false; reason: string };

/**
 * Checks a URL that the operator did not choose, such as a lender's callback URL. Does not use the network. The URL has
 * to be absolute https without a user name, with a full domain name or a public address, and at most 2048 characters
 * long. A URL whose host and port are in `allow` may also use plain http, a private address or a name of a single
 * label.
 *
 * @example
 * const verdict = checkUrl(callbackUrl, parseAllowList("")); // an empty allow list: public https only
 * if (!verdict.ok) throw new TypeError(`callbackUrl: ${verdict.reason}`);
 * const { hostname } = verdict.url;
 */
export function checkUrl(text: string, allow: AllowList): UrlVerdict {
  if (text.length > MAX_URL_CHARS) return reject(`The URL is longer than ${MAX_URL_CHARS} characters.`);
  // Some URL parsers read a backslash as a slash and others as a letter, so they would disagree about the host.
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) {
    return reject("The URL contains spaces or characters that must be percent-encoded.");
  }
  const url = /^https?:\/\/[^/]/i.test(text) ? URL.parse(text) : null;
  if (url === null) return reject("Not an absolute URL: expected something like https://example.com/path.");
  if (/^[^/]+\/\/[^/?#]*@/.test(text)) return reject("The URL must not contain a user name or password.");
  if (url.port === "0") return reject("The URL must not have port 0.");

  const hostname = unbracket(url.hostname);
  if (isListed(allow, url.hostname, portOf(url))) return { ok: true, url };
  if (url.protocol !== "https:") return reject("The URL must start with https://.");
  if (isNeverPublic(hostname)) return reject(`The host ${hostname} is never reachable on the public internet.`);
  if (isIP(hostname) === 0) {
    return FULL_DOMAIN_NAME.test(hostname)
      ? { ok: true, url }
      : reject(`The host ${hostname} is not a full domain name.`);
  }
  const range = forbiddenRange(hostname);
  return range === null ? { ok: true, url } : reject(`The address ${hostname} is not public (${range}).`);
}

/** Removes the brackets around an IPv6 address, because sockets take the address without them. */
export function unbracket(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

function isNeverPublic(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  return NEVER_PUBLIC_NAMES.some((reserved) => name === reserved || name.endsWith(`.${reserved}`));
}

function reject(reason: string): UrlVerdict {
  return { ok: false, reason };
}
