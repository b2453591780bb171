import { onOneLine } from "@collections/flows";
import { type Remedy, remedyFor } from "@collections/webhooks";

/** A failed attempt. `status` and `headers` are null if no answer came. */
export type Failure = Omit<Parameters<typeof remedyFor>[0], "url">;

/** Returns the cause and the remedy of a failure, each on one line without characters that control a terminal. */
export function wordsFor(failure: Failure, url: string | null): Remedy {
  const { cause, remedy } = remedyFor({ ...failure, url });
  return { cause: onOneLine(cause), remedy: onOneLine(remedy) };
}
