import { readFile } from "node:fs/promises";
import { PALETTE } from "@collections/web-pages";

const SHEET = new URL("./assets/console.css", import.meta.url);

/** Returns the palette of all sites and the style sheet of the console, as one file. */
export async function consoleStyles(): Promise<string> {
  const sheets = await Promise.all([PALETTE, SHEET].map((file) => readFile(file, "utf8")));
  return sheets.join("\n");
}
