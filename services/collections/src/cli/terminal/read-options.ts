import { readInstant } from "@collections/cases";
import { type CurrencyCode, isCurrency } from "@collections/money";
import { InvalidArgumentError } from "commander";
import { EXPECTED_MOMENT, type LocalMoment, readClockMoment } from "../../desk/files/clock-moment.ts";
import { parseDuration } from "../../settings/setting-readers.ts";
import { isUuid } from "./with-database.ts";

const REASON_CHARACTERS = 500;

export type { LocalMoment };

/**
 * Reads a moment in one of three forms: with Z or an offset; in local time (`2026-11-20 18:00`, or `09:00` for today);
 * or as a duration before now (`24h`).
 */
export function readMoment(text: string): LocalMoment {
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) {
    const at = new Date(Date.now() - agoMs);
    return () => at;
  }
  const moment = readClockMoment(text);
  if (moment !== undefined) return moment;
  throw new InvalidArgumentError(
    `${EXPECTED_MOMENT}, or how long ago, such as 90m or 24h; got "${text.slice(0, 40)}".`,
  );
}

/** Reads a moment as `readMoment` does, but rejects a duration such as `24h`. */
export function readPoint(text: string): LocalMoment {
  const moment = readClockMoment(text);
  if (moment !== undefined) return moment;
  throw new InvalidArgumentError(`${EXPECTED_MOMENT}; got "${text.slice(0, 40)}".`);
}

/** Reads a day of the calendar. */
export function readDay(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError("Expected a day such as 2026-11-20.");
}

/** Reads a day of the calendar, or a moment as `readPoint` does. */
export function readUntil(text: string): string | LocalMoment {
  if (isDay(text)) return text;
  const moment = readClockMoment(text);
  if (moment !== undefined) return moment;
  throw new InvalidArgumentError(`"${text.slice(0, 40)}" is not a day such as 2026-11-20. ${EXPECTED_MOMENT}.`);
}

/** Reads a currency in upper or lower case. */
export function readCurrency(text: string): CurrencyCode {
  const code = text.toUpperCase();
  if (isCurrency(code)) return code;
  throw new InvalidArgumentError("Expected a currency of ISO 4217, such as INR.");
}

/** Reads an amount in major units. Rejects 1e2, which a spreadsheet or a typing error makes of another amount. */
export function readSum(text: string): string {
  if (/^\d{1,15}(\.\d{1,4})?$/.test(text)) return text;
  throw new InvalidArgumentError(`Expected an amount such as 1250.50; got "${text.slice(0, 40)}".`);
}

/** Reads a reason for the audit log. */
export function readReason(text: string): string {
  const reason = text.trim();
  if (reason !== "" && reason.length <= REASON_CHARACTERS) return reason;
  throw new InvalidArgumentError(
    `Expected a reason of 1 to ${REASON_CHARACTERS} characters; it is recorded in the audit log.`,
  );
}

export function readCursor(text: string): string {
  if (isUuid(text)) return text;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}

/** Returns a reader that accepts whole numbers from `from` to `to`. */
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
