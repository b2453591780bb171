import { type AmountFault, AmountLiteral, type CurrencyCode, readAmount } from "@collections/money";
import { isDay, readInstant } from "./instant.ts";
import { pointerTo, quotedStart, type RowFault, type RowFaultCode, type RowWarning } from "./row-fault.ts";

/**
 * The maximum number of faults that are reported for one row. Without a limit, the answer could be many times as long
 * as the request.
 */
const MAX_FAULTS_PER_ROW = 50;
/**
 * Texts that are longer than this are rejected before they are normalized, because normalizing takes time. The limit
 * counts all spaces, also those that would be collapsed later.
 */
const LONGEST_TEXT = 10_000;
/**
 * Matches more than 30 combining marks in a row. Such texts are rejected, because the time to normalize the marks grows
 * with the square of their number. Unicode's stream-safe format (UAX 15) has the same limit.
 */
const TOO_MANY_MARKS = /\p{M}{31}/u;

/** The context of a field reader: the position in the row, the row's defaults, and the lists of faults and warnings. */
export interface FieldContext {
  readonly pointer: string;
  readonly currency: CurrencyCode;
  /** The country of national phone numbers and of addresses: two capital letters of ISO 3166. */
  readonly country: string;
  /** The server's time. */
  readonly now: Date;
  readonly faults: RowFault[];
  readonly warnings: RowWarning[];
  /** Whether a part of an optional field that has a fault is left out with a warning. */
  readonly leaveOutFaulty?: boolean | undefined;
}

/** Turns a value of a row into the stored value, or adds a fault and returns undefined. */
export type FieldReader<Value> = (value: unknown, context: FieldContext) => Value | undefined;

/** Adds a fault. Only the first faults of a row are kept. */
export function refuse(context: FieldContext, code: RowFaultCode | AmountFault, detail: string): undefined {
  if (context.faults.length < MAX_FAULTS_PER_ROW) context.faults.push({ code, pointer: context.pointer, detail });
}

/** Turns the faults after the first `faultsBefore` into warnings that their fields were left out. */
export function leaveOut({ faults, warnings }: FieldContext, faultsBefore: number): void {
  for (const { pointer, detail } of faults.splice(faultsBefore)) {
    warnings.push({ code: "FIELD_NOT_APPLIED", pointer, detail: `Left out: ${detail}` });
  }
}

/** Returns the context of a field or an array element of this value. */
export function below(context: FieldContext, field: string | number): FieldContext {
  return { ...context, pointer: pointerTo(context.pointer, field) };
}

/**
 * Reads a text of one line. White space is collapsed, so that line breaks in an exported file do no harm. The text is
 * normalized to NFC, so that a search finds texts that look the same.
 */
export function text(maxLength: number): FieldReader<string> {
  return (value, context) => {
    if (typeof value !== "string") return refuse(context, "WRONG_TYPE", `Expected a text; got ${kindOf(value)}.`);
    if (value.length > LONGEST_TEXT) {
      return refuse(context, "TOO_LONG", `Expected at most ${maxLength} characters; got ${value.length}.`);
    }
    if (TOO_MANY_MARKS.test(value)) {
      return refuse(context, "WRONG_TYPE", "Expected at most 30 combining marks, such as accents, on one letter.");
    }
    const line = value.normalize().replaceAll(/\s+/g, " ").trim();
    if (line === "")
      return refuse(context, "REQUIRED", "Expected a text that is not empty; send null to clear the field.");
    if (!isPrintable(line)) return refuse(context, "WRONG_TYPE", "Expected printable characters only.");
    if (line.length > maxLength) {
      return refuse(context, "TOO_LONG", `Expected at most ${maxLength} characters; got ${line.length}.`);
    }
    return line;
  };
}

/** Reads a calendar day, `YYYY-MM-DD`. */
export const day: FieldReader<string> = (value, context) =>
  typeof value === "string" && isDay(value)
    ? value
    : refuse(context, "INVALID_DATE", `Expected a day such as 2026-11-20; got ${shown(value)}.`);

/** Reads an instant with `Z` or an offset. */
export const instant: FieldReader<Date> = (value, context) => {
  if (typeof value !== "string") return refuse(context, "INVALID_DATE", `Expected an instant; got ${kindOf(value)}.`);
  const reading = readInstant(value);
  return "instant" in reading ? reading.instant : refuse(context, reading.fault, reading.detail);
};

/** How far a time may be ahead of the server's clock. */
const MAX_AHEAD_MS = 5 * 60_000;

/**
 * Reads the `outstandingAsOf` of a balance. If it is too far in the future, returns the current time and adds a
 * warning.
 */
export const balanceAsOf: FieldReader<Date> = (value, context) => {
  const asOf = instant(value, context);
  if (asOf === undefined || asOf.getTime() <= context.now.getTime() + MAX_AHEAD_MS) return asOf;
  const detail = `${asOf.toISOString()} is more than 5 minutes ahead of server time; ${context.now.toISOString()} was used instead.`;
  context.warnings.push({ code: "AS_OF_IN_FUTURE", pointer: context.pointer, detail });
  return context.now;
};

/** Reads an amount in major units. Parse rows with `parseJson` and AMOUNT_FIELDS, so that amounts are not rounded. */
export function amount(options: { allowZero: boolean }): FieldReader<bigint> {
  return (value, context) => {
    if (!(value instanceof AmountLiteral)) {
      return refuse(context, "WRONG_TYPE", `Expected a JSON number in major units; got ${kindOf(value)}.`);
    }
    const reading = readAmount(value, context.currency, options);
    return "minor" in reading ? reading.minor : refuse(context, reading.fault, reading.detail);
  };
}

export function wholeNumber(min: number, max: number): FieldReader<number> {
  return (value, context) =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
      ? value
      : refuse(context, "WRONG_TYPE", `Expected a whole number from ${min} to ${max}; got ${shown(value)}.`);
}

export function decimalNumber(min: number, max: number): FieldReader<number> {
  return (value, context) =>
    typeof value === "number" && value >= min && value <= max
      ? value
      : refuse(context, "WRONG_TYPE", `Expected a number from ${min} to ${max}; got ${shown(value)}.`);
}

export const yesOrNo: FieldReader<boolean> = (value, context) =>
  typeof value === "boolean" ? value : refuse(context, "WRONG_TYPE", `Expected true or false; got ${shown(value)}.`);

/** Reads one of a closed list of values. */
export function oneOf<const Value extends string>(values: readonly Value[]): FieldReader<Value> {
  return (value, context) =>
    values.find((allowed) => allowed === value) ??
    refuse(context, "INVALID_ENUM", `Expected one of ${values.join(", ")}; got ${shown(value)}.`);
}

export function list<Value>(read: FieldReader<Value>, maxItems: number): FieldReader<Value[]> {
  return (value, context) => {
    if (!Array.isArray(value)) return refuse(context, "WRONG_TYPE", `Expected an array; got ${kindOf(value)}.`);
    if (value.length > maxItems) {
      return refuse(context, "TOO_LONG", `Expected at most ${maxItems} items; got ${value.length}.`);
    }
    const faultsBefore = context.faults.length;
    const items = value.map((item, index) => read(item, below(context, index)));
    if (context.leaveOutFaulty) {
      leaveOut(context, faultsBefore);
      return items.filter((item) => item !== undefined) as Value[];
    }
    return items.some((item) => item === undefined) ? undefined : (items as Value[]);
  };
}

/**
 * Reads the lender's own name-value pairs. `refusal` checks each pair. If it returns a sentence, the pair is rejected
 * and the sentence is the detail of the fault.
 */
export function stringPairs(limits: {
  maxPairs: number;
  maxName: number;
  maxValue: number;
  refusal: (name: string, value: unknown) => string | undefined;
}): FieldReader<Record<string, string>> {
  const readValue = text(limits.maxValue);
  return (value, context) => {
    if (!isObject(value)) return refuse(context, "WRONG_TYPE", `Expected an object; got ${kindOf(value)}.`);
    const pairs = Object.entries(value);
    if (pairs.length > limits.maxPairs) {
      return refuse(context, "TOO_LONG", `Expected at most ${limits.maxPairs} pairs; got ${pairs.length}.`);
    }
    const faultsBefore = context.faults.length;
    const read = pairs.map(([name, item]) => {
      const at = below(context, name.slice(0, limits.maxName));
      if (name.length > limits.maxName) refuse(at, "TOO_LONG", `Expected a name of at most ${limits.maxName} letters.`);
      if (name === "" || !isPrintable(name)) refuse(at, "WRONG_TYPE", "Expected a name of printable characters.");
      const refusal = limits.refusal(name, item);
      if (refusal !== undefined) return [name, refuse(at, "PERSONAL_DATA", refusal)] as const;
      return [name, readValue(item, at)] as const;
    });
    return context.faults.length > faultsBefore ? undefined : (Object.fromEntries(read) as Record<string, string>);
  };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof AmountLiteral);
}

/**
 * Tells whether a text has no control characters, line separators or lone surrogates. PostgreSQL rejects U+0000 and
 * lone surrogates in JSON.
 */
export function isPrintable(value: string): boolean {
  return value.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value);
}

/**
 * Describes a value for a fault's detail. Numbers and booleans are shown in full, and long texts are cut. Other values
 * are only named: "null", "an array", "an object".
 */
export function shown(value: unknown): string {
  if (typeof value === "string") return quotedStart(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value instanceof AmountLiteral) return "a number";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
