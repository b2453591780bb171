import { createInterface } from "node:readline/promises";
import { harmless } from "@collections/flows";

// The only file of the command line that writes to stdout and stderr. Names, reasons, headers of files and error messages
// come from outside: nothing in them may move the cursor, set the title or hide what stands beside it.

/** Prints text for a person on stdout. */
export function print(text: string): void {
  process.stdout.write(`${harmless(text)}\n`);
}

/** Prints one JSON document on stdout. Its values stay exact: what a terminal would act on is written as `\\u…`. */
export function printJson(json: unknown, { indent }: { indent?: number } = {}): void {
  const text = JSON.stringify(json, plainNumbers, indent);
  process.stdout.write(`${text.replaceAll(/[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, escapedInJson)}\n`);
}

/** Tells a person something on stderr, while a command works or when it fails. */
export function tell(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

/** Asks a person a question on stderr. Returns whether the answer on stdin is `y` or `yes`. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(harmless(`${question} [y/N] `))).trim());
  } finally {
    terminal.close();
  }
}

/** Shows on stderr how far a command has come, on one line that the next call overwrites; nothing where it is a log. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${harmless(text)}`);
}

/** Takes the line of progress away. */
export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001B[K");
}

/** Counts and minor units are bigint inside; none comes near what a JSON number holds exactly. */
function plainNumbers(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

/** JSON has escapes of 16 bits only: a character beyond them is two. */
function escapedInJson(character: string): string {
  const units = Array.from({ length: character.length }, (_, place) => character.charCodeAt(place));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
