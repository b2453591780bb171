/** A message of a PostgreSQL client, with only the fields that counting needs. */
export type Sent =
  /** `text` is the text of a simple query or of a prepared statement. */
  | { readonly kind: "statement"; readonly text: string; readonly bound?: BoundStatement }
  /** A message that the server answers: a simple query or a Sync. */
  | { readonly kind: "sync" };

/** A prepared statement with the parameters of one execution, as text. */
export interface BoundStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (string | null)[];
}

const STARTUP_HEADER_BYTES = 8;
const HEADER_BYTES = 5;
const NULL_LENGTH = -1;

/** Splits a stream of bytes into messages: a type of one byte, a length and a payload. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0);
  /** Whether messages have a type. Only the first message of a client has none. */
  #isStarted: boolean;

  constructor(side: "client" | "server") {
    this.#isStarted = side === "server";
  }

  /** Returns the messages that these bytes complete. */
  read(chunk: Buffer): { type: string; payload: Buffer }[] {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    const messages = [];
    for (;;) {
      const header = this.#isStarted ? HEADER_BYTES : STARTUP_HEADER_BYTES;
      if (this.#pending.length < header) return messages;
      const typeBytes = this.#isStarted ? 1 : 0;
      const end = typeBytes + this.#pending.readInt32BE(typeBytes);
      if (this.#pending.length < end) return messages;
      const type = this.#isStarted ? this.#pending.toString("latin1", 0, 1) : "";
      messages.push({ type, payload: this.#pending.subarray(typeBytes + 4, end) });
      this.#pending = this.#pending.subarray(end);
      this.#isStarted = true;
    }
  }
}

/** Reads the statements from what a client sends on one connection. A prepared statement counts when it is executed. */
export class StatementReader {
  readonly #messages = new MessageReader("client");
  readonly #texts = new Map<string, string>();
  #bound: BoundStatement = { name: "", text: "", values: [] };

  read(chunk: Buffer): Sent[] {
    return this.#messages.read(chunk).flatMap(({ type, payload }): Sent[] => {
      switch (type) {
        case "Q":
          return [{ kind: "statement", text: cString(payload, 0) }, { kind: "sync" }];
        case "P": {
          const name = cString(payload, 0);
          this.#texts.set(name, cString(payload, Buffer.byteLength(name) + 1));
          return [];
        }
        case "B":
          this.#bound = this.#readBind(payload);
          return [];
        case "E":
          return [{ kind: "statement", text: this.#bound.text, bound: this.#bound }];
        case "S":
          return [{ kind: "sync" }];
        default:
          return [];
      }
    });
  }

  /**
   * Reads a Bind message: names of the portal and the statement, formats of the values, then the values with their
   * lengths.
   */
  #readBind(payload: Buffer): BoundStatement {
    const nameStart = payload.indexOf(0) + 1;
    const name = cString(payload, nameStart);
    const formatsStart = nameStart + Buffer.byteLength(name) + 1;
    let place = formatsStart + 2 + 2 * payload.readInt16BE(formatsStart);
    const count = payload.readInt16BE(place);
    place += 2;
    const values = Array.from({ length: count }, () => {
      const length = payload.readInt32BE(place);
      const start = place + 4;
      place = start + Math.max(length, 0);
      return length === NULL_LENGTH ? null : payload.toString("utf8", start, place);
    });
    return { name, text: this.#texts.get(name) ?? "", values };
  }
}

function cString(payload: Buffer, start: number): string {
  return payload.toString("utf8", start, payload.indexOf(0, start));
}
