/** The hosts that the operator allows (`OUTBOUND_ALLOW`). They may use plain http and private addresses. */
export type AllowList = { readonly entries: readonly AllowEntry[] };

/** One host, spelled as in a URL, and one of its ports or all of them. */
export type AllowEntry = { readonly hostname: string; readonly port: number | "*" };

/** The mistake in an entry of the allow list. */
export type AllowListFault =
  | "EMPTY_ENTRY"
  | "HAS_SCHEME"
  | "NOT_HOST_AND_PORT"
  | "WILDCARD_HOST"
  | "INVALID_HOST"
  | "INVALID_PORT"
  | "PORT_MISSING"
  | "UNBRACKETED_IPV6";

/**
 * One entry of the allow list is invalid. `entry` is its text, `code` is the mistake, and the message says what to write.
 *
 * @example
 * try {
 *   parseAllowList("http://localhost:4000");
 * } catch (error) {
 *   if (error instanceof InvalidAllowListError) console.error(error.code); // HAS_SCHEME
 * }
 */
export class InvalidAllowListError extends Error {
  readonly code: AllowListFault;
  readonly entry: string;

  constructor(code: AllowListFault, entry: string) {
    super(`OUTBOUND_ALLOW entry "${entry}" is not valid: ${REMEDIES[code]}`);
    this.name = "InvalidAllowListError";
    this.code = code;
    this.entry = entry;
  }
}

const REMEDIES: Record<AllowListFault, string> = {
  EMPTY_ENTRY: "the entry is empty; remove the superfluous comma.",
  HAS_SCHEME: "leave out the scheme, write host:port.",
  NOT_HOST_AND_PORT: "write only host:port or host:*, without path, user, query or spaces.",
  WILDCARD_HOST: "name one host; only the port may be *.",
  INVALID_HOST: "the host is neither a name nor an address.",
  INVALID_PORT: "the port is a number from 1 to 65535, or * for every port.",
  PORT_MISSING: "add a port (host:8080) or every port (host:*).",
  UNBRACKETED_IPV6: "write an IPv6 address in brackets, for example [::1]:8080.",
};

/**
 * Parses `host:port` and `host:*` entries, separated by commas, with IPv6 addresses in brackets. An empty text is an empty
 * list. Throws `InvalidAllowListError` for the first invalid entry.
 *
 * @example
 * const allow = parseAllowList(process.env["OUTBOUND_ALLOW"] ?? ""); // such as localhost:4000,10.0.0.5:*
 * const verdict = checkUrl(callbackUrl, allow);
 */
export function parseAllowList(text: string): AllowList {
  if (text.trim() === "") return { entries: [] };
  return { entries: text.split(",").map((entry) => parseEntry(entry.trim())) };
}

/** Returns whether the list contains the host and port of a URL. Names are compared as text and not resolved. */
export function isListed(allow: AllowList, hostname: string, port: number): boolean {
  return allow.entries.some((entry) => entry.hostname === hostname && (entry.port === "*" || entry.port === port));
}

/** Returns the port of a URL, or the default port of its scheme. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function parseEntry(entry: string): AllowEntry {
  if (entry === "") throw new InvalidAllowListError("EMPTY_ENTRY", entry);
  if (entry.includes("://")) throw new InvalidAllowListError("HAS_SCHEME", entry);
  if (/[\s/\\@?#]/.test(entry)) throw new InvalidAllowListError("NOT_HOST_AND_PORT", entry);

  const { host, port } = splitEntry(entry);
  if (host.includes("*")) throw new InvalidAllowListError("WILDCARD_HOST", entry);
  const hostname = canonicalHostname(host);
  if (hostname === null) throw new InvalidAllowListError("INVALID_HOST", entry);
  if (port === "*") return { hostname, port };
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw new InvalidAllowListError("INVALID_PORT", entry);
  }
  return { hostname, port: Number(port) };
}

function splitEntry(entry: string): { host: string; port: string } {
  const bracketed = /^(\[[^\]]*\])(?::(.*))?$/.exec(entry);
  if (bracketed === null && entry.split(":").length > 2) throw new InvalidAllowListError("UNBRACKETED_IPV6", entry);
  const [host = "", port] = bracketed === null ? entry.split(":") : bracketed.slice(1);
  if (port === undefined || port === "") throw new InvalidAllowListError("PORT_MISSING", entry);
  return { host, port };
}

/** Returns the host as a parsed URL spells it, so that `LOCALHOST` and `127.1` match the host of a request. */
function canonicalHostname(host: string): string | null {
  const url = URL.parse(`https://${host}/`);
  return url === null || url.hostname === "" ? null : url.hostname;
}
