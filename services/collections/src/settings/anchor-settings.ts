import { type AllowList, checkUrl, InvalidAllowListError, parseAllowList } from "@collections/outbound";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/**
 * Where anchors of the ledger are kept: a file to which anchors are appended, or an address to which each anchor is
 * sent by PUT.
 */
export type AnchorPlace =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "address"; readonly url: string; readonly headers: Record<string, string> };

/** The value of `LEDGER_ANCHOR`. The headers for an address are in another setting, `LEDGER_ANCHOR_HEADER`. */
type AnchorTarget = { kind: "file"; path: string } | { kind: "address"; url: string };

/** The form of a `file:` URL, for error messages. */
export const FILE_URL =
  "file:/ and an absolute path, such as file:/var/lib/anchors.jsonl (write # as %23, ? as %3F and % as %25)";
const EXPECTED =
  "takes file:/ and an absolute path, such as file:/var/lib/anchors.jsonl, or a URL such as https://store.example/anchors";

/** The setting `LEDGER_ANCHOR`: the target of anchors, or a sentence that says why the value cannot be used. */
export const ledgerAnchor = z
  .string()
  .transform((text, context): AnchorTarget => {
    const target = readTarget(text);
    if (typeof target !== "string") return target;
    context.addIssue({ code: "custom", message: target });
    return z.NEVER;
  })
  .optional();

function readTarget(text: string): AnchorTarget | string {
  if (/^file:/i.test(text)) {
    const path = pathOfFileUrl(text);
    return path === undefined || path.endsWith("/") ? `takes ${FILE_URL}` : { kind: "file", path };
  }
  if (!/^https?:/i.test(text)) return EXPECTED;
  const allow = allowHostOf(text);
  if (allow === undefined) return EXPECTED;
  const verdict = checkUrl(text, allow);
  if (!verdict.ok) return `cannot be used: ${verdict.reason} Credentials go into LEDGER_ANCHOR_HEADER.`;
  if (verdict.url.hash !== "") return "cannot be used: the URL must not have a fragment (#…)";
  return { kind: "address", url: text };
}

/**
 * Returns the path of a URL such as `file:/mnt/anchors.jsonl` or `file:///mnt/my%20disk`. Returns undefined if the URL
 * names a host, has an unescaped `?` or `#`, or is not a path that a file can have.
 */
export function pathOfFileUrl(url: string): string | undefined {
  if (!/^file:(?:\/\/)?\/(?!\/)[^?#]+$/i.test(url)) return undefined;
  try {
    const path = fileURLToPath(url);
    return path.includes("\0") ? undefined : path;
  } catch {
    // The path has an escaped slash, or a % without two hex digits.
    return undefined;
  }
}

/**
 * Returns an allow list with the host of an address that the operator chose. The host may be private, whatever
 * `OUTBOUND_ALLOW` says. Returns undefined if the URL has no usable host.
 */
export function allowHostOf(url: string): AllowList | undefined {
  const hostname = URL.parse(url)?.hostname;
  if (!hostname) return undefined;
  try {
    return parseAllowList(`${hostname}:*`);
  } catch (error) {
    if (error instanceof InvalidAllowListError) return undefined;
    throw error;
  }
}

/** Combines the target of the anchors with the HTTP headers for it; undefined if anchoring is not set up. */
export function anchorPlace(
  target: AnchorTarget | undefined,
  headers: Record<string, string>,
): AnchorPlace | undefined {
  return target?.kind === "address" ? { ...target, headers } : target;
}
