/** What the number format of a cell makes of its number. */
export type NumberKind = "number" | "date" | "time" | { readonly digits: number };

const BUILT_IN_DATES = new Set([
  14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58,
]);
const BUILT_IN_TIMES = new Set([18, 19, 20, 21, 32, 33, 45, 46, 47]);

/** Returns what a number format makes of numbers. `code` is the text of a format that is not built in. */
export function numberKind(id: number, code: string | undefined): NumberKind {
  if (code === undefined) {
    if (BUILT_IN_DATES.has(id)) return "date";
    return BUILT_IN_TIMES.has(id) ? "time" : "number";
  }
  if (/^0{2,}$/.test(code)) return { digits: code.length };
  const first = code.split(";", 1)[0]!;
  const plain = first.replaceAll(/"[^"]*"|\\.|_.|\*./g, "").replaceAll(/\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "");
  if (/general/i.test(plain) || !/[ymdhs]/i.test(plain)) return "number";
  return /[yd]/i.test(plain) || /mmm/i.test(plain) || !/[hs]/i.test(plain) ? "date" : "time";
}

const DAY_MS = 86_400_000;
/** The day before day 1 of both date systems. 1900 is no leap year, but the first system has its 29 February as day 60. */
const EPOCHS = { 1900: Date.UTC(1899, 11, 31), 1904: Date.UTC(1904, 0, 1) } as const;
/** 31 December 9999. */
const LAST_DAY = 2_958_466;

/** Returns a number of a sheet as text: a day or a moment in ISO 8601 without a zone, or plain digits. */
export function numberText(text: string, kind: NumberKind, dateSystem: 1900 | 1904): string {
  const number = Number(text);
  if (text === "" || !Number.isFinite(number)) return text;
  if ((kind === "date" || kind === "time") && number >= 0 && number < LAST_DAY) {
    return dateText(number, kind, dateSystem);
  }
  const plain = plainDigits(number);
  return typeof kind === "object" && /^\d+$/.test(plain) ? plain.padStart(kind.digits, "0") : plain;
}

function dateText(number: number, kind: "date" | "time", dateSystem: 1900 | 1904): string {
  const seconds = Math.round((number % 1) * 86_400);
  const days = Math.floor(number);
  if (dateSystem === 1900 && days === 60) return "1900-02-29";
  const since = dateSystem === 1900 && days > 60 ? days - 1 : days;
  const moment = new Date(EPOCHS[dateSystem] + since * DAY_MS + seconds * 1_000).toISOString();
  const [day, time] = [moment.slice(0, 10), moment.slice(11, 19)];
  if (kind === "time" && days === 0) return time;
  return seconds === 0 && kind === "date" ? day : `${day} ${time}`;
}

/** Returns a number with at most 15 digits and without an exponent: a spreadsheet keeps no more, so 0.1 + 0.2 is 0.3. */
export function plainDigits(number: number): string {
  const [mantissa = "", exponent = "0"] = number.toExponential(14).split("e");
  const [sign, digits] = mantissa.startsWith("-") ? ["-", mantissa.slice(1)] : ["", mantissa];
  const all = digits.replace(".", "").replace(/0+$/, "");
  if (all === "") return "0";
  const point = Number(exponent) + 1;
  if (point <= 0) return `${sign}0.${"0".repeat(Math.min(-point, 100))}${all}`;
  if (all.length <= point) return `${sign}${all}${"0".repeat(Math.min(point - all.length, 100))}`;
  return `${sign}${all.slice(0, point)}.${all.slice(point)}`;
}
