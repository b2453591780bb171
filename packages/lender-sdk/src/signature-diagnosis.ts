import type { Answer } from "./answer.ts";

/** A request as it went out, for the debugger. contract: Signature debugger */
export interface RequestToDebug {
  readonly method: string;
  readonly path: string;
  readonly timestamp: string;
  readonly signature: string;
  /** The exact text of the body; `bodyBase64` has its bytes instead. */
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** contract: Signature debugger */
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
