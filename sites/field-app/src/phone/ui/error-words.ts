import type { Refusal } from "../data/answers.ts";
import { NoAnswerError, RefusedRequestError } from "../data/graphql.ts";
import { SignedOutError } from "../data/session.ts";
import { texts } from "../language/current.ts";
import { count, money } from "../language/formats.ts";

const MS_PER_SECOND = 1_000;

/**
 * Returns the text for a refusal of the service. If the app has no text for its code, because a later version of the
 * service has new codes, returns the service's own message.
 */
export function refusalWords({ code, message, minimum, maximum }: Refusal): string {
  const { errors, amountBetween } = texts();
  if (minimum && maximum) return amountBetween(money(minimum), money(maximum));
  return textOf(errors, code) ?? message;
}

/** Returns the message to show for an error of a request. Throws any other error again, because it is a bug. */
export function errorWords(error: unknown): string {
  const { errors, waitSeconds } = texts();
  if (error instanceof SignedOutError) return errors.SIGNED_OUT;
  if (!(error instanceof NoAnswerError || error instanceof RefusedRequestError)) throw error;
  const { code, message, retryAfterMs } = error;
  if (code === "RATE_LIMITED" && retryAfterMs !== undefined) {
    return waitSeconds(count(Math.ceil(retryAfterMs / MS_PER_SECOND)));
  }
  return textOf(errors, code) ?? message;
}

/** Returns the text of a code that the service sent, or undefined if this version of the app does not know the code. */
export function textOf(known: Readonly<Record<string, string>>, code: string | null): string | undefined {
  return code !== null && Object.hasOwn(known, code) ? known[code] : undefined;
}
