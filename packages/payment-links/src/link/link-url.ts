import { type AllowList, checkUrl, MAX_URL_CHARS } from "@collections/outbound";

/** Where the URL of a minted link may lead. */
export interface LinkUrlRule {
  /** Hosts that may be plain http and private: the operator's list in a sandbox, an empty one everywhere else. */
  readonly allow: AllowList;
  /** The lender's payment-link hosts as `host` or `host:port`; with none, any public host counts. */
  readonly hosts: readonly string[];
}

/** The URL for the borrower, or a sentence for operators. */
export type LinkUrlVerdict =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Checks the URL that a lender minted, without a network. `url` is the canonical form, and only that form goes to the
 * borrower: what a browser's parser makes of the text, with the host in lower case and punycode, an IP address in its
 * usual notation, no default port and no `..`. So what was checked is what the borrower opens.
 */
export function checkLinkUrl(text: string, { allow, hosts }: LinkUrlRule): LinkUrlVerdict {
  const opened = checkUrl(text, allow);
  if (!opened.ok) return opened;
  const { href: url, host, hostname } = opened.url;
  if (url.length > MAX_URL_CHARS) return refuse(`The URL is longer than ${MAX_URL_CHARS} characters.`);
  // The allowed hosts of a sandbox stay allowed, whatever the lender has pinned.
  if (!checkUrl(text, NOTHING).ok) return { ok: true, url };
  if (hostname.endsWith(".")) return refuse("The host ends with a dot.");
  if (hosts.length === 0 || hosts.includes(host)) return { ok: true, url };
  return refuse(`The host ${host} is not among the lender's payment-link hosts: ${hosts.join(", ")}.`);
}

const NOTHING: AllowList = { entries: [] };

function refuse(reason: string): LinkUrlVerdict {
  return { ok: false, reason };
}
