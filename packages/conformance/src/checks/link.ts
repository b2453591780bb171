import { BlockList, isIP } from "node:net";
import { fail, type Finding } from "./check.ts";
import { expectAcknowledged, excerptOf, isSuccess } from "./expectation.ts";
import type { Exchange } from "../stand-in/stand-in.ts";

const MAX_LINK_ID_CHARS = 128;
const MAX_URL_CHARS = 2_048;
const PRINTABLE = new RegExp(`^\\P{Cc}{1,${MAX_LINK_ID_CHARS}}$`, "u");

/** A link that a mint endpoint returned. `amount` is undefined if the endpoint's answer has no amount. */
export interface Link {
  readonly linkId: string;
  readonly url: string;
  readonly amount: unknown;
  /** The link's id and URL as reports show them, with secrets masked. */
  readonly shown: string;
}

/**
 * The result of reading a mint endpoint's answer. If the service would not accept the answer, `link` is null and
 * `faults` says why.
 */
export interface LinkReading {
  readonly link: Link | null;
  readonly faults: Finding[];
  /** Whether the answer has `success: true`. The contract shows it, but the service does not require it. */
  readonly saysSuccess: boolean;
}

/** Reads an answer as the service does. contract: Mint-link response */
export function readLink(made: Exchange): LinkReading {
  const faults = expectAcknowledged(made);
  const { outcome } = made;
  if (outcome.kind === "failure" || !isSuccess(outcome.status)) return { link: null, faults, saysSuccess: false };
  if (outcome.cut === "too slow")
    return none("The answer began, but did not end in time.", "Send the whole answer in time.");
  if (outcome.cut === "too large") return none("The answer is larger than 64 KiB.", SHAPE);
  if (outcome.cut === "broken")
    return none("The connection broke before the answer ended.", "Look in your server's log for the reason.");

  const body = parseObject(outcome.body);
  if (body === null) return none(`The answer is not a JSON object in UTF-8: “${excerptOf(made)}”.`, SHAPE);
  if (body["success"] === false) return none("The answer has success: false.", LOAN_TO_MINT_FOR);
  if (body["success"] !== undefined && body["success"] !== true) return none("success is not true.", SHAPE);
  const link = asObject(body["link"]);
  if (link === null) return none('The answer has no object "link".', SHAPE);
  return readFields(link, body["success"] === true, made.mask);
}

function readFields(link: Record<string, unknown>, saysSuccess: boolean, mask: Exchange["mask"]): LinkReading {
  const { linkId, url, amount } = link;
  if (typeof linkId !== "string" || !PRINTABLE.test(linkId.trim()) || !linkId.isWellFormed()) {
    return none(
      `link.linkId is ${inWords(linkId)}.`,
      `Send a string of 1 to ${MAX_LINK_ID_CHARS} printable characters.`,
    );
  }
  const problem = typeof url === "string" ? whyUrlIsRejected(url, mask) : "is not a string";
  if (problem !== null) return none(`link.url ${problem}.`, "Send the https URL at which the borrower can pay.");
  return {
    link: { linkId: linkId.trim(), url: url as string, amount, shown: mask(`${linkId.trim()} (${String(url)})`) },
    faults: [],
    saysSuccess,
  };
}

/** Returns why a URL cannot be sent to borrowers, as the end of a sentence; null if it can be sent. */
export function whyUrlIsRejected(text: string, mask: Exchange["mask"]): string | null {
  if (text.length > MAX_URL_CHARS) return `is longer than ${MAX_URL_CHARS} characters`;
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) return "has spaces or characters that must be percent-encoded";
  if (!URL.canParse(text)) return "is not an absolute URL";
  const { protocol, hostname, username, password } = new URL(text);
  if (protocol !== "https:") return `begins with ${mask(protocol)} instead of https:`;
  if (username !== "" || password !== "") return "contains a user name or password";
  if (hostname.endsWith(".")) return "has a host that ends with a dot";
  return isPublic(hostname) ? null : `leads to ${mask(hostname)}, which is not on the public internet`;
}

const PRIVATE_NETWORKS = [
  ["0.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  ["::", 127, "ipv6"],
  ["fc00::", 7, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["ff00::", 8, "ipv6"],
] as const;
const privateNetworks = new BlockList();
for (const [address, prefix, family] of PRIVATE_NETWORKS) privateNetworks.addSubnet(address, prefix, family);

function isPublic(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const family = isIP(host);
  if (family !== 0) return !privateNetworks.check(host, family === 4 ? "ipv4" : "ipv6");
  return host.includes(".") && !/(^|\.)(localhost|local|internal|home\.arpa)\.?$/.test(host);
}

function none(problem: string, mend: string): LinkReading {
  return { link: null, faults: [fail(problem, mend)], saysSuccess: false };
}

function inWords(value: unknown): string {
  if (value === undefined) return "missing";
  return typeof value === "string" ? "empty, too long or not printable" : "not a string";
}

function parseObject(body: Uint8Array): Record<string, unknown> | null {
  try {
    return asObject(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
  } catch {
    return null;
  }
}

function asObject(value: unknown): Record<string, unknown> | null {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : null;
}

const SHAPE = 'Answer {"success": true, "link": {"linkId": "…", "url": "https://…"}} and nothing before or after it.';
const LOAN_TO_MINT_FOR =
  "Mint the link. If your endpoint only mints for loans that it knows, name such a loan with --loan.";
