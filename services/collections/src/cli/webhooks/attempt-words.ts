import { onOneLine, quoted } from "@collections/flows";
import { type Remedy, remedyFor } from "@collections/webhooks";

const SHOWN_BODY_BYTES = 2_048;

/** A failed attempt. `status` and `headers` are null if no answer came. */
export type Failure = Omit<Parameters<typeof remedyFor>[0], "url">;

/** Returns the cause and the remedy of a failure, each on one line without characters that control a terminal. */
export function wordsFor(failure: Failure, url: string | null): Remedy {
  const { cause, remedy } = remedyFor({ ...failure, url });
  return { cause: onOneLine(cause), remedy: onOneLine(remedy) };
}

/** Returns the answer of a callback as indented lines: status, headers, the beginning of the body. */
export function answerLines(status: number, headers: Readonly<Record<string, string>> | null, body: string): string[] {
  return [
    `answered ${status}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => onOneLine(`${name}: ${value}`)),
    ...(body === "" ? [] : quoted(body, SHOWN_BODY_BYTES).split("\n")),
  ].map((line) => `  ${line}`);
}
