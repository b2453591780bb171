import { checkUrl, parseAllowList } from "@collections/outbound";
import { z } from "zod";

/** Where anchors of the ledger are kept: a file that grows, or an address that takes each by PUT. */
export type AnchorPlace =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "address"; readonly url: string; readonly headers: Record<string, string> };

/** `LEDGER_ANCHOR` without the header, which is a setting of its own. */
type AnchorTarget = { kind: "file"; path: string } | { kind: "address"; url: string };

const EXPECTED =
  "takes file:/ and an absolute path, such as file:/var/lib/anchors.jsonl, or a URL such as https://store.example/anchors";

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
  const [, path] = /^file:(?:\/\/)?(\/(?!\/)[^\0]*[^/\0])$/.exec(text) ?? [];
  if (path !== undefined) return { kind: "file", path };
  if (!/^https?:/i.test(text)) return EXPECTED;
  const hostname = URL.parse(text)?.hostname;
  const verdict = hostname ? checkUrl(text, parseAllowList(allowedHost(text))) : undefined;
  if (!verdict) return EXPECTED;
  if (!verdict.ok) return `cannot be used: ${verdict.reason} Credentials go into LEDGER_ANCHOR_HEADER.`;
  if (verdict.url.hash !== "") return "cannot be used: the URL must not have a fragment (#…)";
  return { kind: "address", url: text };
}

/** An address that the operator chose may be private, whatever `OUTBOUND_ALLOW` says. */
export function allowedHost(url: string): string {
  return `${new URL(url).hostname}:*`;
}

/** The place with its header; undefined where anchoring is not set up. */
export function anchorPlace(
  target: AnchorTarget | undefined,
  headers: Record<string, string>,
): AnchorPlace | undefined {
  return target?.kind === "address" ? { ...target, headers } : target;
}
