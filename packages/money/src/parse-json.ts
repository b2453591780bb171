/**
 * A JSON number exactly as it was written, before a double could round it.
 *
 * @example
 * const reading = readAmount(new AmountLiteral("2.5e3"), currency("INR")); // { minor: 250000n }
 */
export class AmountLiteral {
  /** The number's text: `2500`, `2500.00`, `2.5E3`. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/**
 * An object has two members with the same name. Parsers disagree about which of the two counts.
 *
 * @example
 * try {
 *   parseJson('{"amount":1,"amount":7}', new Set(["amount"]));
 * } catch (error) {
 *   if (error instanceof DuplicateFieldError) console.error(`Twice: ${error.path.join(".")}`); // "Twice: amount"
 * }
 */
export class DuplicateFieldError extends SyntaxError {
  override readonly name = "DuplicateFieldError";
  readonly code = "DUPLICATE_FIELD";
  /** The path of the repeated member from the outermost value: names of members and indexes of arrays. */
  readonly path: readonly (string | number)[];

  constructor(path: readonly (string | number)[]) {
    super("An object has the same name twice.");
    this.path = path;
  }
}

/**
 * The text exceeds one of JSON_LIMITS. It is valid JSON up to that point.
 *
 * @example
 * try {
 *   parseJson("[".repeat(5_000_000), new Set());
 * } catch (error) {
 *   if (error instanceof JsonTooComplexError) console.error(error.message); // "The JSON is nested deeper than 32 levels."
 * }
 */
export class JsonTooComplexError extends SyntaxError {
  override readonly name = "JsonTooComplexError";
  readonly code = "JSON_TOO_COMPLEX";
}

/**
 * The limits of `parseJson`. Within them, 5 MiB are read in less than 200 ms.
 *
 * @example
 * console.log(`Send at most ${JSON_LIMITS.values} values at a time.`);
 */
export const JSON_LIMITS = {
  /** The maximum depth of nested objects and arrays. */
  depth: 32,
  /**
   * The maximum number of values: strings, numbers, objects, arrays, true, false and null. 1,000 import rows with every
   * field filled have 185,000 values.
   */
  values: 200_000,
  /** The maximum number of different member names. A new name costs the engine much more than a repeated one. */
  names: 20_000,
  /** The maximum number of characters of one number. */
  numberCharacters: 1_000,
} as const;

/**
 * Parses JSON as JSON.parse does, with three differences. A number that is the value of one of `amountKeys`, at any
 * depth, becomes an AmountLiteral. An object that contains a name twice is rejected with DuplicateFieldError. A text
 * that exceeds JSON_LIMITS is rejected with JsonTooComplexError. Both errors are SyntaxErrors. Text that is not JSON is
 * rejected with a plain SyntaxError.
 *
 * @example
 * const payment = parseJson(requestBody, new Set(["amount"])) as { amount?: unknown };
 * if (!(payment.amount instanceof AmountLiteral)) throw new TypeError("amount: expected a number");
 * const reading = readAmount(payment.amount, currency("INR"));
 */
export function parseJson(text: string, amountKeys: ReadonlySet<string>): unknown {
  return new JsonReader(text, amountKeys).read();
}

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** A recursive-descent parser for the grammar of RFC 8259, in one pass. `JSON_LIMITS.depth` limits the recursion. */
class JsonReader {
  readonly #text: string;
  readonly #amountKeys: ReadonlySet<string>;
  /** Index of the next character. */
  #at = 0;
  #values = 0;
  readonly #names = new Set<string>();
  /** For each depth, the name or index of the member that is being read. Entries beyond the current depth are outdated. */
  readonly #path: (string | number)[] = [];

  constructor(text: string, amountKeys: ReadonlySet<string>) {
    this.#text = text;
    this.#amountKeys = amountKeys;
  }

  read(): unknown {
    const value = this.#value(0, undefined);
    this.#afterSpace();
    if (this.#at < this.#text.length) this.#fail("the end of the text");
    return value;
  }

  /** @param name The name of the member whose value this is; undefined in an array and for the outermost value. */
  #value(depth: number, name: string | undefined): unknown {
    this.#values += 1;
    if (this.#values > JSON_LIMITS.values) tooComplex(`has more than ${JSON_LIMITS.values} values`);
    switch (this.#afterSpace()) {
      case QUOTE:
        return this.#string();
      case OPENING_BRACE:
        return this.#object(depth + 1);
      case OPENING_BRACKET:
        return this.#array(depth + 1);
      case 0x74:
        return this.#word("true", true);
      case 0x66:
        return this.#word("false", false);
      case 0x6e:
        return this.#word("null", null);
      default:
        return this.#number(name);
    }
  }

  #object(depth: number): Record<string, unknown> {
    if (depth > JSON_LIMITS.depth) tooDeep();
    const object: Record<string, unknown> = {};
    this.#at += 1;
    if (this.#afterSpace() === CLOSING_BRACE) {
      this.#at += 1;
      return object;
    }
    for (;;) {
      if (this.#afterSpace() !== QUOTE) this.#fail("a name in double quotes");
      const name = this.#string();
      this.#path[depth - 1] = name;
      if (Object.hasOwn(object, name)) throw new DuplicateFieldError(this.#path.slice(0, depth));
      if (this.#names.add(name).size > JSON_LIMITS.names) tooComplex(`has more than ${JSON_LIMITS.names} names`);
      if (this.#afterSpace() !== COLON) this.#fail('":"');
      this.#at += 1;
      setOwn(object, name, this.#value(depth, name));
      const next = this.#afterSpace();
      if (next !== COMMA && next !== CLOSING_BRACE) this.#fail('"," or "}"');
      this.#at += 1;
      if (next === CLOSING_BRACE) return object;
    }
  }

  #array(depth: number): unknown[] {
    if (depth > JSON_LIMITS.depth) tooDeep();
    const array: unknown[] = [];
    this.#at += 1;
    if (this.#afterSpace() === CLOSING_BRACKET) {
      this.#at += 1;
      return array;
    }
    for (;;) {
      this.#path[depth - 1] = array.length;
      array.push(this.#value(depth, undefined));
      const next = this.#afterSpace();
      if (next !== COMMA && next !== CLOSING_BRACKET) this.#fail('"," or "]"');
      this.#at += 1;
      if (next === CLOSING_BRACKET) return array;
    }
  }

  /** Reads a string. The current position is its opening quote. */
  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let end = start + 1;
    let isEscaped = false;
    for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(end)) {
      // Stops at a control character, and at the end of the text, where the code is NaN. `code < 0x20` would be false
      // for NaN.
      if (!(code >= 0x20)) {
        this.#at = end;
        this.#fail("the end of the string");
      }
      if (code === BACKSLASH) isEscaped = true;
      end += code === BACKSLASH ? 2 : 1;
    }
    this.#at = end + 1;
    return isEscaped ? this.#unescaped(start, end + 1) : text.slice(start + 1, end);
  }

  #unescaped(start: number, end: number): string {
    try {
      return JSON.parse(this.#text.slice(start, end)) as string;
    } catch {
      this.#at = start;
      return this.#fail("a string with valid JSON escapes");
    }
  }

  #number(name: string | undefined): number | AmountLiteral {
    const text = this.#text;
    const start = this.#at;
    if (text.charCodeAt(this.#at) === MINUS) this.#at += 1;
    // No digit may follow a leading zero: 01 is not JSON.
    if (text.charCodeAt(this.#at) === ZERO) this.#at += 1;
    else this.#digits("a value");
    if (text.charCodeAt(this.#at) === POINT) {
      this.#at += 1;
      this.#digits("a digit");
    }
    const exponent = text.charAt(this.#at);
    if (exponent === "e" || exponent === "E") {
      const sign = text.charCodeAt(this.#at + 1);
      this.#at += sign === PLUS || sign === MINUS ? 2 : 1;
      this.#digits("a digit");
    }
    if (this.#at - start > JSON_LIMITS.numberCharacters) {
      tooComplex(`has a number of more than ${JSON_LIMITS.numberCharacters} characters`);
    }
    const source = text.slice(start, this.#at);
    return name !== undefined && this.#amountKeys.has(name) ? new AmountLiteral(source) : Number(source);
  }

  /** Skips one or more digits. */
  #digits(expected: string): void {
    const start = this.#at;
    let code = this.#text.charCodeAt(this.#at);
    while (code >= ZERO && code <= NINE) {
      this.#at += 1;
      code = this.#text.charCodeAt(this.#at);
    }
    if (this.#at === start) this.#fail(expected);
  }

  #word<Value>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) this.#fail("a value");
    this.#at += word.length;
    return value;
  }

  /** Skips white space. Returns the code of the next character, or NaN at the end of the text. */
  #afterSpace(): number {
    const text = this.#text;
    let code = text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#at += 1;
      code = text.charCodeAt(this.#at);
    }
    return code;
  }

  #fail(expected: string): never {
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text.charAt(this.#at)) : "the end";
    throw new SyntaxError(`Expected ${expected} at character ${this.#at + 1}, got ${found}`);
  }
}

/** Sets a property. `__proto__` is defined instead of assigned, because an assignment would change the prototype. */
function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

function tooDeep(): never {
  tooComplex(`is nested deeper than ${JSON_LIMITS.depth} levels`);
}

function tooComplex(finding: string): never {
  throw new JsonTooComplexError(`The JSON ${finding}.`);
}
