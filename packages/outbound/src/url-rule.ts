import { isIP } from "node:net";
import { forbiddenRange } from "./address-rule.ts";
import { type AllowList, isListed, portOf } from "./allow-list.ts";

/**
 * Longest URL we accept from anybody.
 *
 * @example
 * const callbackUrlSchema = { type: "string", format: "uri", maxLength: MAX_URL_CHARS };
 */
export const MAX_URL_CHARS = 2048;

/** Names that by their standard never lead to the public internet (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`). */
const NEVER_PUBLIC_NAMES = ["localhost", "local", "internal", "home.arpa"];
/** At least two labels of at most 63 characters, with or without the root's dot: nothing else can be asked of the DNS. */
const FULL_DOMAIN_NAME = /^(?=.{1,253}\.?$)([a-z0-9_-]{1,63}\.)+[a-z0-9_-]{1,63}\.?$/;

/** A URL that may be called, or a sentence for the person who registers it. */
export type UrlVerdict = { ok: true; url: URL } | { ok: false; reason: string };

/**
 * The check that needs no network, for a URL somebody else chose: absolute https, no user name, a full domain name or a
 * public address, at most 2048 characters. A `host:port` in `allow` may be plain http, private and a single label.
 * `reason` is one sentence for the person who registers the URL.
 *
 * @example
 * const verdict = checkUrl(callbackUrl, parseAllowList("")); // nothing is opened: public https only
 * if (!verdict.ok) throw new TypeError(`callbackUrl: ${verdict.reason}`);
 * const { hostname } = verdict.url;
 */
export function checkUrl(text: string, allow: AllowList): UrlVerdict {
  if (text.length > MAX_URL_CHARS) return refuse(`The URL is longer than ${MAX_URL_CHARS} characters.`);
  // A backslash is a slash to some readers of a URL and a letter to others: they would not agree on the host.
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) {
    return refuse("The URL holds spaces or characters that must be percent-encoded.");
  }
  const url = /^https?:\/\/[^/]/i.test(text) ? URL.parse(text) : null;
  if (url === null) return refuse("Not an absolute URL: expected something like https://example.com/path.");
  if (/^[^/]+\/\/[^/?#]*@/.test(text)) return refuse("The URL must not carry a user name or password.");
  if (url.port === "0") return refuse("Nobody can be reached on port 0.");

  const hostname = unbracket(url.hostname);
  if (isListed(allow, url.hostname, portOf(url))) return { ok: true, url };
  if (url.protocol !== "https:") return refuse("The URL must start with https://.");
  if (isNeverPublic(hostname)) return refuse(`The host ${hostname} is never reachable on the public internet.`);
  if (isIP(hostname) === 0) {
    return FULL_DOMAIN_NAME.test(hostname)
      ? { ok: true, url }
      : refuse(`The host ${hostname} is not a full domain name.`);
  }
  const range = forbiddenRange(hostname);
  return range === null ? { ok: true, url } : refuse(`The address ${hostname} is not public (${range}).`);
}

/** The host as the socket layer wants it: an IPv6 literal without its brackets. */
export function unbracket(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

function isNeverPublic(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  return NEVER_PUBLIC_NAMES.some((reserved) => name === reserved || name.endsWith(`.${reserved}`));
}

function refuse(reason: string): UrlVerdict {
  return { ok: false, reason };
}
