import { FileNotReadableError } from "../file-text.ts";
import { type NumberKind, numberText } from "./number-format.ts";
import { joined, RichText, type SharedTexts } from "./shared-texts.ts";
import { readXml } from "./xml-events.ts";

/** A row of a sheet with at least one cell that is not empty. `row` counts from 1. */
export interface SheetRow {
  readonly row: number;
  /** The cells up to the last one that is not empty. */
  readonly cells: readonly string[];
}

/** What the cells of a sheet refer to. */
export interface SheetContext {
  readonly sheet: string;
  readonly texts: SharedTexts;
  /** The kind of numbers of each style. */
  readonly kinds: readonly NumberKind[];
  readonly dateSystem: 1900 | 1904;
  readonly mostColumns: number;
}

const MOST_ROWS = 1_048_576;

/** Yields the rows of a sheet in their order, some at a time. Empty rows and cells are left out. */
export async function* rowsOfSheet(bytes: AsyncIterable<Buffer>, context: SheetContext): AsyncGenerator<SheetRow[]> {
  const reader = new SheetReader(context);
  for await (const rows of readXml(bytes, reader, () => reader.take())) if (rows.length > 0) yield rows;
}

class SheetReader {
  readonly #context: SheetContext;
  readonly #inline = new RichText();
  #rows: SheetRow[] = [];
  #row = 0;
  #cells: string[] = [];
  #column = -1;
  #type = "";
  #style = 0;
  #value = "";
  #isValue = false;

  constructor(context: SheetContext) {
    this.#context = context;
  }

  take(): SheetRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === "row") {
      this.#begin(attributes["r"]);
    } else if (name === "c") {
      this.#column = attributes["r"] === undefined ? this.#column + 1 : columnOf(attributes["r"]);
      this.#type = attributes["t"] ?? "n";
      this.#style = Number(attributes["s"] ?? 0);
      this.#value = "";
    } else if (name === "v") {
      this.#isValue = true;
    } else if (this.#type === "inlineStr") {
      this.#inline.open(name);
    }
  }

  text(text: string): void {
    if (this.#isValue) this.#value = joined(this.#value, text);
    else if (this.#type === "inlineStr") this.#inline.text(text);
  }

  close(name: string): void {
    if (name === "v") this.#isValue = false;
    else if (name === "c") this.#endCell();
    else if (name === "row") this.#endRow();
    else if (this.#type === "inlineStr") this.#inline.close(name);
  }

  #begin(number: string | undefined): void {
    const row = number === undefined ? this.#row + 1 : Number(number);
    if (!(Number.isInteger(row) && row > this.#row && row <= MOST_ROWS)) {
      throw new FileNotReadableError(
        `The sheet "${this.#context.sheet}" has the rows in a wrong order. Save it again.`,
      );
    }
    this.#row = row;
    this.#cells = [];
    this.#column = -1;
  }

  #endCell(): void {
    const text = this.#cellText();
    this.#type = "";
    if (text === "") return;
    const { mostColumns, sheet } = this.#context;
    if (!(this.#column >= 0 && this.#column < mostColumns)) {
      const most = mostColumns.toLocaleString("en");
      throw new FileNotReadableError(
        `Row ${this.#row} of the sheet "${sheet}" has a value behind column ${most}. Delete it: a file has at most ${most} columns.`,
      );
    }
    while (this.#cells.length < this.#column) this.#cells.push("");
    this.#cells[this.#column] = text;
  }

  #endRow(): void {
    if (this.#cells.length > 0) this.#rows.push({ row: this.#row, cells: this.#cells });
  }

  #cellText(): string {
    const { texts, kinds, dateSystem } = this.#context;
    switch (this.#type) {
      case "s":
        return oneLine(texts.at(Number(this.#value)));
      case "inlineStr":
        return oneLine(this.#inline.take());
      case "b":
        return this.#value.trim() === "1" ? "TRUE" : "FALSE";
      case "n":
        return numberText(this.#value.trim(), kinds[this.#style] ?? "number", dateSystem);
      default:
        // The text of a formula, an error such as #N/A, or a date in ISO 8601.
        return oneLine(this.#value);
    }
  }
}

/** Each row becomes one line, so that the number of a line is the number of its row. */
function oneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, " ") : text;
}

/** Returns the index of the column of a cell, such as 27 for AB12; -1 for another text. */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,4}/i.exec(reference)?.[0] ?? "") {
    column = column * 26 + letter.toUpperCase().charCodeAt(0) - 64;
  }
  return column - 1;
}
