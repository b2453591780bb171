import { MAX_RECORD_CHARACTERS } from "../csv-records.ts";
import { FileNotReadableError } from "../file-text.ts";
import type { XmlEvents } from "./xml-events.ts";

/**
 * The texts that the cells of a workbook share. They are stored as bytes outside of the heap: a workbook of 200,000 rows
 * has about a million of them.
 */
export class SharedTexts {
  #bytes = Buffer.alloc(65_536);
  #length = 0;
  /** The end of each text in `#bytes`. */
  #ends = new Uint32Array(4_096);
  #count = 0;

  /** Returns a text, or an empty text if there is none of this index. */
  at(index: number): string {
    if (!(index >= 0 && index < this.#count)) return "";
    return this.#bytes.toString("utf8", index === 0 ? 0 : this.#ends[index - 1]!, this.#ends[index]);
  }

  /** Returns the events that read `xl/sharedStrings.xml`. */
  events(): XmlEvents {
    const reader = new RichText();
    return {
      open: (name) => reader.open(name),
      text: (text) => reader.text(text),
      close: (name) => {
        reader.close(name);
        if (name === "si") this.#add(reader.take());
      },
    };
  }

  #add(text: string): void {
    const size = Buffer.byteLength(text);
    if (this.#length + size > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#length + size));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    if (this.#count === this.#ends.length) {
      const larger = new Uint32Array(this.#ends.length * 2);
      larger.set(this.#ends);
      this.#ends = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
    this.#ends[this.#count] = this.#length;
    this.#count += 1;
  }
}

/** Appends a piece to the text of a cell. Throws FileNotReadableError if the cell is longer than any record may be. */
export function joined(text: string, piece: string): string {
  if (text.length + piece.length <= MAX_RECORD_CHARACTERS) return text + piece;
  const most = MAX_RECORD_CHARACTERS.toLocaleString("en");
  throw new FileNotReadableError(`A cell of the workbook has more than ${most} characters. Shorten it.`);
}

/** Collects the text of an element that may have formats, and leaves out its phonetic readings. */
export class RichText {
  #text = "";
  #isText = false;
  #phonetics = 0;

  open(name: string): void {
    if (name === "rPh") this.#phonetics += 1;
    else if (name === "t") this.#isText = this.#phonetics === 0;
  }

  text(text: string): void {
    if (this.#isText) this.#text = joined(this.#text, text);
  }

  close(name: string): void {
    if (name === "rPh") this.#phonetics -= 1;
    else if (name === "t") this.#isText = false;
  }

  /** Returns the text, and begins with the next one. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    // Characters that XML cannot contain are written as _x000D_.
    return text.includes("_x")
      ? text.replaceAll(/_x([\dA-F]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
      : text;
  }
}
