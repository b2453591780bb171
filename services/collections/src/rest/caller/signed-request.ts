import type { LenderProfile } from "@collections/lenders";
import type { Request } from "express";

/** A caller who names an API key, and has not proved that it has the secret of the key. */
export interface NamedCaller {
  readonly keyId: string;
  readonly lender: LenderProfile;
  /** Outside a sandbox, the signature debugger is open for the API key until this time. */
  readonly debugUntil: Date | null;
  /** The address of a request that names its API key without a signature. Absent if a signature was verified. */
  readonly unprovenFrom?: string;
}

/** A caller whose signature was verified. */
export interface SignedCaller extends NamedCaller {
  /** Server time minus the caller's timestamp. */
  readonly skewMs: number;
  /** Server time at the arrival of the request. The request's timestamp was compared with this time. */
  readonly acceptedAt: Date;
}

/** A request with its caller. */
export type RequestOf<Caller extends NamedCaller> = Caller & RequestContent;

/** A request whose signature was verified. */
export type SignedRequest = RequestOf<SignedCaller>;

/** The content of a request. */
export interface RequestContent {
  readonly requestId: string;
  /** The decoded `{loan}` of the path; undefined if the path has none. */
  readonly loan: string | undefined;
  /** The decoded parameters of the path. */
  readonly params: Readonly<Partial<Record<string, string>>>;
  /** The parameters of the query string, which is not signed. */
  readonly query: URLSearchParams;
  /** The body exactly as it arrived. */
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly headers: Request["headers"];
}
