import { createInterface } from "node:readline/promises";
import { harmless } from "@collections/flows";
import { coloured, red } from "./colours.ts";
import { BYTE_ORDER_MARK, csvLine } from "../../table-file/csv-line.ts";

// Only this file of the command line writes to stdout and stderr. The output includes text from outside, such as names,
// reasons, headers of files and error messages. Control characters in such text must not move the cursor, set the title
// of the terminal or hide other text.

/** Prints text for a person on stdout. */
export function print(text: string): void {
  process.stdout.write(`${coloured(harmless(text), process.stdout)}\n`);
}

/**
 * Prints one JSON document on stdout. Characters that control a terminal are written as `\\u…`, so the values stay
 * exact.
 */
export function printJson(json: unknown, { indent }: { indent?: number } = {}): void {
  const text = JSON.stringify(json, plainNumbers, indent);
  process.stdout.write(`${text.replaceAll(/[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, escapedInJson)}\n`);
}

/** Prints records as a CSV file on stdout. The first record contains the names of the columns. */
export function printCsv(records: readonly (readonly string[])[]): void {
  process.stdout.write(BYTE_ORDER_MARK + records.map((cells) => csvLine(cells.map(harmless))).join(""));
}

/**
 * Prints a CSV file on stdout whose records arrive in portions. The next portion is read when the reader of the output has
 * taken the previous one, so the memory does not grow with the file.
 */
export async function printCsvInPortions(
  header: readonly string[],
  portions: AsyncIterable<readonly (readonly string[])[]>,
): Promise<void> {
  printCsv([header]);
  for await (const records of portions) {
    const text = records.map((cells) => csvLine(cells.map(harmless))).join("");
    if (!process.stdout.write(text)) await outputTaken();
    if (process.stdout.destroyed) return;
  }
}

/** Waits until stdout takes more text, or until its reader has closed it. */
function outputTaken(): Promise<void> {
  const { stdout } = process;
  return new Promise((resolve) => {
    const ends = ["drain", "error", "close"];
    const end = () => {
      for (const name of ends) stdout.off(name, end);
      resolve();
    };
    for (const name of ends) stdout.on(name, end);
  });
}

/** Writes text for a person to stderr, while a command runs or when it fails. */
export function tell(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

/** Writes to stderr why a command failed. */
export function tellFailure(text: string): void {
  process.stderr.write(`${red(harmless(text), process.stderr)}\n`);
}

/** Asks a question on stderr. Returns whether the answer on stdin is `y` or `yes`. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(harmless(`${question} [y/N] `))).trim());
  } finally {
    terminal.close();
  }
}

/** Shows progress on stderr, on one line that the next call overwrites. Writes nothing if stderr is not a terminal. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${harmless(text)}`);
}

/** Removes the line that `showProgress` has written. */
export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001B[K");
}

/** Writes a bigint, such as a count, as a JSON number. Such values are far below 2^53, so no digit is lost. */
function plainNumbers(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

/** Returns the JSON escape of a character. One escape has 16 bits, so a character above U+FFFF takes two escapes. */
function escapedInJson(character: string): string {
  const units = Array.from({ length: character.length }, (_, place) => character.charCodeAt(place));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
