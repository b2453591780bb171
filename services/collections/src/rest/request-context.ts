import type { LenderProfile } from "@collections/lenders";
import type { Request } from "express";

/** A request whose signature holds. */
export interface SignedRequest {
  readonly requestId: string;
  readonly keyId: string;
  readonly lender: LenderProfile;
  /** Server time minus the caller's timestamp. */
  readonly skewMs: number;
  /** The decoded `{loan}` of the path, where it has one. */
  readonly loan: string | undefined;
  /** The decoded parts of the path that an endpoint has names for. */
  readonly params: Readonly<Partial<Record<string, string>>>;
  /** The query string's values; never signed. */
  readonly query: URLSearchParams;
  /** The body exactly as it arrived. */
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly headers: Request["headers"];
}

/** What an endpoint answers; `body` undefined answers without one. */
export interface Answer {
  status: number;
  body?: object;
  headers?: Record<string, string>;
}
