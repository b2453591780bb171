import { GraphQLError } from "graphql";

/** Why a field has no answer. What is expected in the course of work is a member of a result union instead. */
export type ClientErrorCode = (typeof CLIENT_ERROR_CODES)[number];

export const CLIENT_ERROR_CODES = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "BAD_INPUT",
  "RATE_LIMITED",
  "TOO_COMPLEX",
  "INTERNAL",
] as const;

/** An error that the client may see as it is: it says what the client should do differently. */
export class ClientError extends GraphQLError {
  /** `retryAfterS`: in how many seconds the same request may be answered. */
  constructor(code: ClientErrorCode, message: string, { retryAfterS }: { retryAfterS?: number } = {}) {
    super(message, { extensions: { code, ...(retryAfterS !== undefined && { retryAfterS }) } });
  }
}

/** The input can never be right. `message` says what is expected. */
export function badInput(message: string): ClientError {
  return new ClientError("BAD_INPUT", message);
}
