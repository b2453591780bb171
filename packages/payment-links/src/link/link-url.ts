import { type AllowList, checkUrl, MAX_URL_CHARS } from "@collections/outbound";

/** The hosts that the URL of a minted link may name. */
export interface LinkUrlRule {
  /** Hosts for which plain http and private addresses are allowed. Empty outside a sandbox. */
  readonly allow: AllowList;
  /** The lender's payment-link hosts as `host` or `host:port`. If empty, every public host is allowed. */
  readonly hosts: readonly string[];
}

/** The URL for the borrower, or a sentence that tells operators why it was rejected. */
export type LinkUrlVerdict =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Checks the URL of a minted link, without network access. The returned `url` is in canonical form, as a browser's
 * parser writes it: the host in lower case and punycode, an IP address in its usual notation, no default port and no
 * `..`. Only this form is sent to the borrower, so the borrower opens exactly the URL that was checked.
 */
export function checkLinkUrl(text: string, { allow, hosts }: LinkUrlRule): LinkUrlVerdict {
  const opened = checkUrl(text, allow);
  if (!opened.ok) return opened;
  const { href: url, host, hostname } = opened.url;
  if (url.length > MAX_URL_CHARS) return reject(`The URL is longer than ${MAX_URL_CHARS} characters.`);
  // In a sandbox, the hosts that the operator allows stay allowed even if the lender has registered payment-link hosts.
  if (!checkUrl(text, NOTHING).ok) return { ok: true, url };
  if (hostname.endsWith(".")) return reject("The host ends with a dot.");
  if (hosts.length === 0 || hosts.includes(host)) return { ok: true, url };
  return reject(`The host ${host} is not among the lender's payment-link hosts: ${hosts.join(", ")}.`);
}

const NOTHING: AllowList = { entries: [] };

function reject(reason: string): LinkUrlVerdict {
  return { ok: false, reason };
}
