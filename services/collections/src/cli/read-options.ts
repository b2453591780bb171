import { readInstant } from "@collections/cases";
import { type CurrencyCode, isCurrency } from "@collections/money";
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../config.ts";
import { isUuid } from "./with-database.ts";

const REASON_CHARACTERS = 500;

/** An instant, or how long ago. */
export function readMoment(text: string): Date {
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return new Date(Date.now() - agoMs);
  const reading = readInstant(text);
  if ("instant" in reading) return reading.instant;
  throw new InvalidArgumentError(`${reading.detail} Or say how long ago, such as 90m or 24h.`);
}

/** A day of the calendar, as it is. */
export function readDay(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError("Expected a day such as 2026-11-20.");
}

/** A day of the calendar as it is, or an instant as UTC says it, to the millisecond. */
export function readUntil(text: string): string {
  if (isDay(text)) return text;
  const reading = readInstant(text);
  if ("instant" in reading) return reading.instant.toISOString();
  const expected = "neither a day such as 2026-11-20 nor an instant with Z or an offset, such as 2026-11-20T09:41:07Z";
  throw new InvalidArgumentError(`"${text.slice(0, 40)}" is ${expected}.`);
}

/** A currency, in capitals or not. */
export function readCurrency(text: string): CurrencyCode {
  const code = text.toUpperCase();
  if (isCurrency(code)) return code;
  throw new InvalidArgumentError("Expected a currency of ISO 4217, such as INR.");
}

/** Why something was done, as the audit keeps it. */
export function readReason(text: string): string {
  const reason = text.trim();
  if (reason !== "" && reason.length <= REASON_CHARACTERS) return reason;
  throw new InvalidArgumentError(`Say why, in 1 to ${REASON_CHARACTERS} characters; it is kept in the audit.`);
}

export function readCursor(text: string): string {
  if (isUuid(text)) return text;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}

/** Reads a whole number between two others. */
export function readCount(from: number, to: number): (text: string) => number {
  return (text) => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if (count >= from && count <= to) return count;
    throw new InvalidArgumentError(`Expected a number from ${from} to ${to}.`);
  };
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && "instant" in readInstant(`${text}T00:00Z`);
}
