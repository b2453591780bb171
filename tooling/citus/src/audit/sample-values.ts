/**
 * The made-up value of every id, including the lender's. It is always the same, so that a statement finds the rows that
 * `writeSampleRows` has written.
 */
export const SAMPLE_ID = "0190a5d2-7c3e-7f00-8000-000000000001";

const SAMPLES: Readonly<Record<string, string>> = {
  uuid: SAMPLE_ID,
  boolean: "true",
  smallint: "1",
  integer: "1",
  bigint: "1",
  numeric: "1",
  real: "1",
  "double precision": "1",
  date: "2026-01-05",
  "timestamp with time zone": "2026-01-05T10:00:00Z",
  "timestamp without time zone": "2026-01-05T10:00:00",
  "time without time zone": "10:00",
  interval: "1 day",
  bytea: "\\x00",
  json: "{}",
  jsonb: "{}",
  regclass: "pg_class",
};

/**
 * Sample values for parameters that do not accept every value of their type, by statement name and parameter number.
 */
const SPECIAL: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  "ledger.record-anchored": { 3: "00" },
  "webhooks.advance-retention": { 1: "event", 2: "90" },
  "webhooks.drop-partitions": { 1: "event" },
  "webhooks.make-partitions": { 1: "event" },
};

/** Returns a value for a parameter of a statement. `type` is the type's name from `format_type`. */
export function sampleParameter(statement: string, number: number, type: string): string {
  return SPECIAL[statement]?.[number] ?? sampleValue(type);
}

/** Returns a value of a type. An array has one element. A text is "1", which can be cast to a number. */
export function sampleValue(type: string): string {
  if (type.endsWith("[]")) return `{"${sampleValue(type.slice(0, -2)).replaceAll(/["\\]/g, "\\$&")}"}`;
  return SAMPLES[type] ?? "1";
}
