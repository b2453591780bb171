import { createHash } from "node:crypto";
import { describeFailure, type Outbound, type OutboundAnswer } from "@collections/outbound";

/** The address that anchors are sent to, and the headers of the requests. */
export interface AnchorAddress {
  readonly url: string;
  readonly headers: Record<string, string>;
}

const TIMEOUT_MS = 10_000;
/**
 * The maximum size of an answer. A larger answer causes an AnchorAddressError, which advises the operator to download
 * the anchors.
 */
export const MAX_ANCHORS_BYTES = 64 * 1_024 * 1_024;
const NAME_HEX_DIGITS = 16;

/**
 * An address did not accept an anchor, or did not return anchors. The message contains no part of the URL or the
 * headers.
 */
export class AnchorAddressError extends Error {
  override readonly name = "AnchorAddressError";
  readonly code = "ANCHOR_ADDRESS_FAILED";
}

/**
 * Sends one anchor to an address by `PUT <url>/<time>-<hash>.json`. An anchor always has the same name, so a repeated
 * PUT overwrites it with the same content.
 */
export async function putAnchor(outbound: Outbound, { url, headers }: AnchorAddress, line: string): Promise<void> {
  const answer = await outbound.request({
    method: "PUT",
    url: under(url, nameOf(line)),
    headers: { ...headers, "content-type": "application/json" },
    body: `${line}\n`,
    timeoutMs: TIMEOUT_MS,
  });
  if (!isSuccess(answer)) throw new AnchorAddressError(`The address did not accept the anchor: ${whyNot(answer)}`);
}

/** Returns the anchors that are stored at an address, one per line. */
export async function getAnchors(outbound: Outbound, { url, headers }: AnchorAddress): Promise<string> {
  const answer = await outbound.request({
    method: "GET",
    url,
    headers,
    timeoutMs: 12 * TIMEOUT_MS,
    maxBodyBytes: MAX_ANCHORS_BYTES,
  });
  const advice = "Download the anchors, and give the folder with the downloaded files instead of the URL.";
  if (!isSuccess(answer))
    throw new AnchorAddressError(`The address did not return the anchors: ${whyNot(answer)} ${advice}`);
  if (answer.bodyCut !== false) {
    throw new AnchorAddressError(`The answer is incomplete (${answer.bodyCut.replace("_", " ")}). ${advice}`);
  }
  return answer.body.toString("utf8");
}

function isSuccess(answer: OutboundAnswer): answer is Extract<OutboundAnswer, { kind: "answer" }> {
  return answer.kind === "answer" && answer.status >= 200 && answer.status <= 299;
}

function whyNot(answer: OutboundAnswer): string {
  return answer.kind === "answer" ? `it answered ${answer.status}.` : describeFailure(answer);
}

/** Adds a name to the path of a URL. The query is kept, so that a signed URL of a folder works. */
function under(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `${address.pathname.replace(/\/$/, "")}/${name}`;
  return address.href;
}

/** Returns the file name for an anchor. The names sort by time. */
function nameOf(line: string): string {
  const { at } = JSON.parse(line) as { at: string };
  const hash = createHash("sha256").update(line).digest("hex").slice(0, NAME_HEX_DIGITS);
  return `${at.replaceAll(/[:.]/g, "-")}-${hash}.json`;
}
