import type { OutboundAnswer } from "@collections/outbound";
import { exchangeMint, type MintCall, type MintExchange } from "./mint-link.ts";
import { type MintFaultCode, mintRemedy } from "./mint-remedy.ts";
import type { MintedLink } from "./record-mint.ts";

const MASK = "***";
const SHOWN_BODY_BYTES = 2_048;

/** Why a test call minted no link. `code` and `detail` are those of the event `payment_link.unavailable`. */
export interface MintFault {
  readonly code: MintFaultCode;
  readonly detail: string;
  readonly cause: string;
  readonly remedy: string;
}

/** A test call of a lender's mint endpoint. `***` replaces the value of the registered auth header. */
export interface TestedMint {
  readonly link: MintedLink | null;
  readonly durationMs: number;
  readonly request: MintExchange["request"];
  /** The lender's answer, with header names in lower case and the first 2 KB of the body. Null if none arrived. */
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  } | null;
  /** Null if the link was minted. */
  readonly error: MintFault | null;
}

/**
 * Makes the mint call that `mintLink` makes, and returns request and answer. Stores nothing. Returns undefined if this
 * process is shutting down.
 *
 * @example
 * const request = { ...link, borrowerName: "Asha Rao", borrowerPhone: "+919800000001", description: "A test" };
 * const linkUrlRule = { allow: { entries: [] }, hosts: [] };
 * const url = "https://acme.example/mint-link";
 * const call = { ...lender, url, outbound, linkUrlRule, mintKey: "test_1", request, timeoutMs: 10_000, now };
 * const tested = await testMint(call);
 * console.log(tested?.link?.url ?? tested?.error?.remedy);
 */
export async function testMint(call: MintCall & { readonly url: string }): Promise<TestedMint | undefined> {
  const { request, outcome, answer } = await exchangeMint(call);
  if (outcome.kind === "failure" && outcome.code === "ABORTED") return undefined;
  const secret = call.authHeader?.value ?? "";
  const masked = (text: string) => (secret === "" ? text : text.replaceAll(secret, MASK));
  const status = outcome.kind === "answer" ? outcome.status : null;
  return {
    link: "minted" in answer ? answer.minted : null,
    durationMs: outcome.durationMs,
    request: { ...request, headers: withoutSecret(request.headers, call.authHeader) },
    response: responseOf(outcome, masked),
    error: "minted" in answer ? null : faultOf(answer.unavailable as MintFaultCode, answer.detail, status),
  };
}

/** Masks the auth header. One of our own headers may have replaced it, and then its value is not the secret. */
function withoutSecret(
  headers: Readonly<Record<string, string>>,
  authHeader: MintCall["authHeader"],
): Record<string, string> {
  const name = authHeader?.name.toLowerCase();
  const shown: Record<string, string> = { ...headers };
  if (name !== undefined && headers[name] === authHeader?.value) shown[name] = MASK;
  return shown;
}

/** Masks the secret before the body is cut, so that no part of the secret remains at the end. */
function responseOf(outcome: OutboundAnswer, masked: (text: string) => string): TestedMint["response"] {
  if (outcome.kind === "failure") return null;
  const headers = Object.entries(outcome.headers).map(([name, value]) => [name, masked(value)] as const);
  const body = Buffer.from(masked(outcome.body.toString("utf8")));
  const isCut = body.length > SHOWN_BODY_BYTES;
  const shown = new TextDecoder().decode(body.subarray(0, SHOWN_BODY_BYTES), { stream: isCut });
  return { status: outcome.status, headers: Object.fromEntries(headers) as Record<string, string>, body: shown };
}

function faultOf(code: MintFaultCode, detail: string, status: number | null): MintFault {
  return { code, detail, ...mintRemedy(code, status) };
}
