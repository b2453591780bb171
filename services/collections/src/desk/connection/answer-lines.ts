import { onOneLine, quoted } from "@collections/flows";

const SHOWN_BODY_BYTES = 2_048;

/** Returns the answer of a callback as indented lines: status, headers, the beginning of the body. */
export function answerLines(status: number, headers: Readonly<Record<string, string>> | null, body: string): string[] {
  return [
    `answered ${status}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => onOneLine(`${name}: ${value}`)),
    ...(body === "" ? [] : quoted(body, SHOWN_BODY_BYTES).split("\n")),
  ].map((line) => `  ${line}`);
}
