/** What a PostgreSQL client sends, as far as counting goes. */
export type Sent =
  /** `text` of a simple query; of a prepared statement, its text. */
  | { readonly kind: "statement"; readonly text: string }
  /** Ends with an answer of the server's: a simple query or a Sync. */
  | { readonly kind: "sync" };

const STARTUP_HEADER_BYTES = 8;
const HEADER_BYTES = 5;

/** Cuts a stream of bytes into messages: a type, one byte, and a payload behind its length. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0);
  /** A client's first message has no type. */
  #isStarted: boolean;

  constructor(side: "client" | "server") {
    this.#isStarted = side === "server";
  }

  /** The messages that the bytes complete. */
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

/** Reads what a client sends on one connection into statements: a prepared one counts when it is executed. */
export class StatementReader {
  readonly #messages = new MessageReader("client");
  readonly #texts = new Map<string, string>();
  #bound = "";

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
          // The name of the portal, then that of the statement.
          this.#bound = cString(payload, payload.indexOf(0) + 1);
          return [];
        case "E":
          return [{ kind: "statement", text: this.#texts.get(this.#bound) ?? "" }];
        case "S":
          return [{ kind: "sync" }];
        default:
          return [];
      }
    });
  }
}

function cString(payload: Buffer, start: number): string {
  return payload.toString("utf8", start, payload.indexOf(0, start));
}
