import type { Command } from "commander";
import { readCount } from "./read-options.ts";
import { EXIT, Refusal } from "./refusal.ts";
import { print, printCsv, printJson, tell } from "./terminal.ts";
import { table } from "./with-database.ts";

/** The options of every list. */
export interface PageOptions<Cursor> {
  limit: number;
  cursor?: Cursor;
  csv?: true | undefined;
}

/** A page of a list as a command prints it. */
export interface PrintedPage<Item extends object> {
  /** The name of the items in the JSON document, such as `cases`. */
  readonly name: string;
  /** The items as `--json` shows them. */
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  /** The fields of an item. They are the columns of the CSV. */
  readonly fields: readonly (keyof Item & string)[];
  /** The columns of the table for people, by their headings. */
  readonly columns: Readonly<Record<string, (item: Item) => string>>;
  /** The text that is printed if there is no item. */
  readonly none: string;
  /** Further properties of the JSON document, such as the lender. */
  readonly about?: object;
}

/** The maximum size of a page. */
export const MAX_LIMIT = 1_000;

/**
 * Adds the options of a list to a command: `--limit`, `--cursor` and `--csv`.
 *
 * @param limit the default of `--limit`
 */
export function withPageOptions(command: Command, readCursor: (text: string) => unknown, limit = 50): Command {
  return command
    .option("--limit <count>", `the size of a page, up to ${MAX_LIMIT}`, readCount(1, MAX_LIMIT), limit)
    .option("--cursor <cursor>", "the nextCursor of the previous page", readCursor)
    .option("--csv", "print the page as CSV, for a spreadsheet");
}

/** How a command prints a page. */
export type PageFormat = "json" | "csv" | "table";

/** Returns the format that the options name. Throws a Refusal if they name two. */
export function formatOf({ csv }: Pick<PageOptions<unknown>, "csv">): PageFormat {
  const isJson = process.argv.includes("--json");
  if (csv && isJson) throw new Refusal("NOT_UNDERSTOOD", "Give either --json or --csv.", EXIT.notUnderstood);
  return csv ? "csv" : isJson ? "json" : "table";
}

/**
 * Returns the page of a list that is in memory, and the item at which it ends if there are more. `isCursor` finds the last
 * item of the previous page; if it is gone, the page is empty.
 */
export function pageOf<Item>(
  items: readonly Item[],
  limit: number,
  isCursor: ((item: Item) => boolean) | undefined,
): { readonly page: readonly Item[]; readonly last: Item | undefined } {
  const place = isCursor === undefined ? -1 : items.findIndex(isCursor);
  const rest = isCursor !== undefined && place === -1 ? [] : items.slice(place + 1);
  const page = rest.slice(0, limit);
  return { page, last: rest.length > limit ? page.at(-1) : undefined };
}

/** Prints a page. Tells how to see the next page: in the JSON, below the table, or on stderr beside a CSV. */
export function printPage<Item extends object>(format: PageFormat, page: PrintedPage<Item>): void {
  const { name, items, nextCursor, fields, columns, none, about } = page;
  if (format === "json") return printJson({ ...about, [name]: items, nextCursor }, { indent: 2 });
  if (format === "csv") {
    printCsv([fields, ...items.map((item) => fields.map((field) => csvCell(item[field])))]);
  } else if (items.length === 0) print(none);
  else {
    const rows = items.map((item) => Object.values(columns).map((cellOf) => cellOf(item)));
    print(table([Object.keys(columns), ...rows]));
  }
  const say = format === "csv" ? tell : print;
  if (nextCursor !== null) say(`More: add --cursor ${nextCursor}`);
}

/** Returns a value as a cell of a CSV file: a list or an object as JSON. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" ? value : JSON.stringify(value);
}
