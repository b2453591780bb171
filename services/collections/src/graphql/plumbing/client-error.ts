import { GraphQLError } from "graphql";

/** The code of an error. A failure that is part of normal use is a member of a result union instead. */
export type ClientErrorCode = (typeof CLIENT_ERROR_CODES)[number];

export const CLIENT_ERROR_CODES = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "BAD_INPUT",
  "RATE_LIMITED",
  "TOO_COMPLEX",
  "INTERNAL",
] as const;

/** An error whose message the client may see. The message says what the client should do differently. */
export class ClientError extends GraphQLError {
  /**
   * `retryAfterS`: seconds after which the same request may succeed. `status`: the HTTP status of an answer with this
   * error only; default: the status of its code.
   */
  constructor(
    code: ClientErrorCode,
    message: string,
    { retryAfterS, status }: { retryAfterS?: number; status?: number } = {},
  ) {
    super(message, {
      extensions: {
        code,
        ...(retryAfterS !== undefined && { retryAfterS }),
        ...(status !== undefined && { http: { status } }),
      },
    });
  }
}

/** Returns the error for an input that is always invalid, whatever the state. `message` says what is expected. */
export function badInput(message: string): ClientError {
  return new ClientError("BAD_INPUT", message);
}
