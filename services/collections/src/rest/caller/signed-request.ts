import type { LenderProfile } from "@collections/lenders";
import type { Request } from "express";

/** A caller by the key that it names. Nothing proves yet that it has the key's secret. */
export interface NamedCaller {
  readonly keyId: string;
  readonly lender: LenderProfile;
  /** The signature debugger is open for the key until then, where it is closed otherwise. */
  readonly debugUntil: Date | null;
  /** The address of a request that only names its key; absent where a signature proves the key. */
  readonly unprovenFrom?: string;
}

/** A caller whose signature holds. */
export interface SignedCaller extends NamedCaller {
  /** Server time minus the caller's timestamp. */
  readonly skewMs: number;
  /** Server time on arrival, by which the timestamp was judged. */
  readonly acceptedAt: Date;
}

/** A request of a caller that somebody vouches for. */
export type RequestOf<Caller extends NamedCaller> = Caller & RequestContent;

/** A request whose signature holds. */
export type SignedRequest = RequestOf<SignedCaller>;

/** What a request says, whoever sends it. */
export interface RequestContent {
  readonly requestId: string;
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
