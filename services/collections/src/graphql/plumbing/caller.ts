import type { SignedIn } from "@collections/field-partners";
import type { Request, Response } from "express";

/** The field partner who sends a request, identified by the access token. */
export interface Caller extends SignedIn {
  readonly accessToken: string;
}

/** The context that Yoga gets with each request. */
export interface ServerContext {
  readonly req: Request;
  readonly res: Response;
  /** Set before the body is parsed; undefined when the request has no valid access token. */
  caller?: Caller | undefined;
}
