import { onOneLine, quoted } from "@collections/flows";
import { type Remedy, remedyFor } from "@collections/webhooks";

const SHOWN_BODY_BYTES = 2_048;

/** A failed attempt. `status` and `headers` are null if no answer came. */
export type Failure = Omit<Parameters<typeof remedyFor>[0], "url">;

/** Why it failed and what the lender is to do, each on one line that cannot act on a terminal. */
export function wordsFor(failure: Failure, url: string | null): Remedy {
  const { cause, remedy } = remedyFor({ ...failure, url });
  return { cause: onOneLine(cause), remedy: onOneLine(remedy) };
}

/** An answer from outside, indented: its status, its headers, the beginning of its body. */
export function answerLines(status: number, headers: Readonly<Record<string, string>> | null, body: string): string[] {
  return [
    `answered ${status}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => onOneLine(`${name}: ${value}`)),
    ...(body === "" ? [] : quoted(body, SHOWN_BODY_BYTES).split("\n")),
  ].map((line) => `  ${line}`);
}
