import type { SignatureCause } from "./diagnose-cause.ts";
import { type MistakeIn, ways } from "./diagnose-recipe.ts";
import { timestampUnit } from "../timestamp.ts";

type TimestampMistake = MistakeIn<"timestamp">;

const PART = { part: "timestamp" } as const;
const MS_PER_S = 1_000;
/**
 * A client that reads its clock twice usually gets two times that differ by at most 5 ms. Mistakes with a larger
 * difference are tried only without a second mistake.
 */
const NEAR_MS = 5;
const FAR_MS = 500;
const FAR_S = 300;

const CAUSE_BY_UNIT: Readonly<Record<string, SignatureCause>> = {
  seconds: "TIMESTAMP_IN_SECONDS",
  microseconds: "TIMESTAMP_IN_MICROSECONDS",
  nanoseconds: "TIMESTAMP_IN_NANOSECONDS",
};

/** Returns the cause if the timestamp is in a unit other than milliseconds, otherwise undefined. */
export function unitCause(timestamp: string): SignatureCause | undefined {
  const unit = timestampUnit(timestamp);
  return unit === undefined ? undefined : CAUSE_BY_UNIT[unit];
}

/** Returns the timestamp in milliseconds that the client should have signed and sent. */
export function inMilliseconds(timestamp: string): string {
  return unitCause(timestamp) === "TIMESTAMP_IN_SECONDS" ? `${timestamp}000` : timestamp.slice(0, 13);
}

/** Returns how to correct a timestamp in another unit. */
export function unitFix(timestamp: string): string {
  return `Sign and send milliseconds: ${inMilliseconds(timestamp)}.`;
}

/** Lists mistakes in the timestamp that was sent. `claimed` is the timestamp that the client says it has signed. */
export function timestampMistakes(sent: string, claimed: string | undefined): TimestampMistake[] {
  const ofClaim = claimed === undefined ? [] : [differing(sent, claimed)];
  const unit = unitCause(sent);
  if (unit !== undefined) return [...ofClaim, signedInMilliseconds(unit, inMilliseconds(sent))];
  if (!/^\d{13}$/.test(sent)) return ofClaim;
  const ms = Number(sent);
  const near = [...around(ms, NEAR_MS, 1), ms - (ms % MS_PER_S), ...around(ms, 1, MS_PER_S)];
  const seconds = [Math.floor(ms / MS_PER_S), Math.round(ms / MS_PER_S), ms / MS_PER_S, (ms / MS_PER_S).toFixed(3)];
  return [
    ...ways(
      PART,
      "TIMESTAMP_IN_SECONDS",
      seconds.map((value) => () => String(value)),
      unitFix(sent),
    ),
    ...ofClaim,
    ...near.map((value) => differing(sent, String(value))),
    ...ways(PART, "TIMESTAMP_IN_MICROSECONDS", [() => `${sent}000`]),
    ...ways(PART, "TIMESTAMP_IN_NANOSECONDS", [() => `${sent}000000`]),
    ...ways(PART, "TIMESTAMP_AS_DATE", [() => isoDate(ms), () => isoDate(ms)?.replace(/\.\d+Z$/, "Z")]),
  ];
}

/**
 * Yields mistakes in which the signed and the sent timestamp differ by more than in the mistakes of
 * `timestampMistakes`. The smallest differences come first: each millisecond within half a second, then each second
 * within five minutes.
 */
export function* farTimestampMistakes(sent: string): Generator<TimestampMistake> {
  if (!/^(\d{10}|\d{13})$/.test(sent)) return;
  const unit = unitCause(sent);
  if (unit !== undefined) {
    for (let ms = 1; ms < MS_PER_S; ms += 1) yield signedInMilliseconds(unit, String(Number(sent) * MS_PER_S + ms));
  } else {
    for (const value of around(Number(sent), FAR_MS, 1)) yield differing(sent, String(value));
  }
  const second = unit === undefined ? MS_PER_S : 1;
  for (const value of around(Number(sent), FAR_S, second)) yield differing(sent, String(value));
}

function* around(center: number, count: number, step: number): Generator<number> {
  for (let offset = 1; offset <= count; offset += 1) {
    yield center - offset * step;
    yield center + offset * step;
  }
}

function differing(sent: string, signed: string): TimestampMistake {
  const fix = `${signed} was signed, but ${sent} was sent: read the clock once, and sign the same text that you send.`;
  return { ...PART, step: 0, cause: "TIMESTAMP_DIFFERS_FROM_HEADER", change: () => signed, fix };
}

/** Returns the mistake of a client that signed the time in milliseconds, but sent it in another unit. */
function signedInMilliseconds(cause: SignatureCause, signed: string): TimestampMistake {
  const fix = `Send milliseconds, as you sign them: ${signed} was signed.`;
  return { ...PART, step: 0, cause, change: () => signed, fix };
}

function isoDate(ms: number): string | undefined {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
