import { publicId } from "@collections/database";
import { type CurrencyCode, toWire } from "@collections/money";
import type { Outbound, OutboundAnswer } from "@collections/outbound";
import { HEADERS, type Secret, sign } from "@collections/signing";
import type { LinkUrlRule } from "../link/link-url.ts";
import { type MintAnswer, readMintAnswer } from "./mint-answer.ts";

/** The content of a mint call; the ids are UUIDs. contract: Mint-link request */
export interface MintRequest {
  readonly sourceLoanNumber: string;
  readonly caseId: string;
  readonly visitId: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly borrowerName: string;
  readonly borrowerPhone: string;
  /**
   * A description of the payment. All requests with the same mint key must have the same description, because gateways
   * reject a key that was used with another body.
   */
  readonly description: string;
}

/** One mint call: the HTTP client, the lender's settings, and the link to request. */
export interface MintCall {
  readonly outbound: Outbound;
  /** The rule for the link's URL. It is independent of the hosts that `outbound` may call. */
  readonly linkUrlRule: LinkUrlRule;
  /** The lender's mintLinkUrl, or null while none is registered. */
  readonly url: string | null;
  /** The additional header that the lender registered for mint calls. */
  readonly authHeader: { readonly name: string; readonly value: string } | undefined;
  readonly signingKey: Secret;
  readonly keyId: string;
  readonly mintKey: string;
  readonly request: MintRequest;
  /** The time limit for the whole call, including the answer. contract: Limits, mint-link response time */
  readonly timeoutMs: number;
  readonly now: Date;
}

/**
 * Makes the mint call to the lender, once. Call it outside any transaction, after `claimMint` has succeeded. It throws
 * only if the auth header cannot be sent. contract: Lender-exposed endpoints
 *
 * @example
 * const { mintKey } = link;
 * const borrower = { borrowerName: "Asha Rao", borrowerPhone: "+919800000001" };
 * const request = { ...link, ...borrower, description: `Payment for loan ${link.sourceLoanNumber}` };
 * const linkUrlRule = { allow: { entries: [] }, hosts: ["pay.acme.example"] };
 * const call = { ...lender, outbound, linkUrlRule, mintKey, request, timeoutMs: 10_000, now };
 * const answer = await mintLink(call);
 */
export async function mintLink(call: MintCall): Promise<MintAnswer> {
  const { url } = call;
  if (url === null) return { unavailable: "not_configured", detail: "The lender has registered no mint-link URL." };
  return (await exchangeMint({ ...call, url })).answer;
}

/** A mint call as it was sent, what came back, and what that means. `request` contains the value of the auth header. */
export interface MintExchange {
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string };
  readonly outcome: OutboundAnswer;
  readonly answer: MintAnswer;
}

/** Makes the mint call, once. Throws only if the auth header cannot be sent. */
export async function exchangeMint(call: MintCall & { readonly url: string }): Promise<MintExchange> {
  const { url } = call;
  const body = JSON.stringify(wireBody(call.request));
  const headers = headersOf(call, url, Buffer.from(body));
  const outcome = await call.outbound.request({
    method: "POST",
    url,
    headers,
    body,
    timeoutMs: call.timeoutMs,
    freshConnection: true,
  });
  return { request: { url, headers, body }, outcome, answer: readMintAnswer(outcome, call.linkUrlRule) };
}

function wireBody({ caseId, visitId, amountMinor, ...request }: MintRequest): object {
  return {
    sourceLoanNumber: request.sourceLoanNumber,
    caseId: publicId("case", caseId),
    visitId: publicId("vis", visitId),
    amount: toWire(amountMinor, request.currency),
    currency: request.currency,
    borrowerName: request.borrowerName,
    borrowerPhone: request.borrowerPhone,
    description: request.description,
  };
}

/** Our own headers come last, so that the lender's registered header cannot replace them. */
function headersOf({ authHeader, ...call }: MintCall, url: string, body: Uint8Array): Record<string, string> {
  const timestamp = String(call.now.getTime());
  // The signature covers the path as the URL parser writes it, because the request line contains this path. `outbound`
  // rejects an invalid URL.
  const path = URL.parse(url)?.pathname ?? "/";
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "idempotency-key": call.mintKey,
    [HEADERS.keyId.toLowerCase()]: call.keyId,
    [HEADERS.timestamp.toLowerCase()]: timestamp,
    [HEADERS.signature.toLowerCase()]: sign({ method: "POST", path, timestamp, body, secret: call.signingKey }),
  };
  const accept = { accept: "application/json" };
  return authHeader
    ? { ...accept, [authHeader.name.toLowerCase()]: authHeader.value, ...headers }
    : { ...accept, ...headers };
}
