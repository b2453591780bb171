import type { Answer } from "./answer.ts";

/**
 * A request as you sent it, for the signature debugger. contract: Signature debugger
 *
 * @example
 * const sent: RequestToDebug = { method: "POST", path: "/api/v1/partner/cases", timestamp, signature, body: text };
 * const { diagnosis } = await client.debugSignature(sent);
 * for (const { cause, fix } of diagnosis) console.log(cause, fix);
 */
export interface RequestToDebug {
  readonly method: string;
  readonly path: string;
  readonly timestamp: string;
  readonly signature: string;
  /** The exact text of the body. Use `bodyBase64` for bytes instead. */
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The likely mistakes behind a wrong signature. contract: Signature debugger */
export interface SignatureDiagnosis extends Answer {
  readonly signatureMatches: boolean;
  readonly canonicalString: string;
  readonly canonicalSha256: string;
  readonly bodyBytes: number;
  readonly bodySha256: string;
  readonly clock: { readonly serverTime: string; readonly skewMs: number | null; readonly withinTolerance: boolean };
  readonly diagnosis: readonly { readonly cause: string; readonly certain: boolean; readonly fix: string }[];
  readonly searchComplete: boolean;
}
