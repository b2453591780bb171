import type { CheckedPaymentRow, FaultyPaymentRow, PaymentRow } from "@collections/flows";
import { AmountLiteral } from "@collections/money";
import { type ReadFile, rowsOf } from "../table-file/table-file.ts";
import { type PaymentReading, readPaymentRow } from "./payment-rows.ts";

/** Payments of a file whose lines are parts, by loan and reference. */
export type PaymentsInParts = ReadonlySet<string>;

/** A line of `--parts` is not in the file, or has no readable payment. */
export class NoPaymentInLineError extends Error {
  override readonly name = "NoPaymentInLineError";
  readonly code = "NO_PAYMENT_IN_LINE";

  constructor(lines: readonly number[]) {
    super(`The file has no readable payment in line ${lines.join(", ")}; see --parts.`);
  }
}

/**
 * Finds the payments that have the given lines. All other lines with the same loan and reference are parts of them, too.
 * Throws NoPaymentInLineError.
 */
export async function paymentsInParts(
  file: ReadFile,
  reading: PaymentReading,
  lines: readonly number[],
): Promise<PaymentsInParts> {
  const open = new Set(lines);
  const found = new Set<string>();
  for await (const record of open.size === 0 ? [] : rowsOf(file)) {
    if (!open.has(record.line)) continue;
    const key = keyOf(readPaymentRow(record, reading));
    if (key === undefined) continue;
    found.add(key);
    open.delete(record.line);
    if (open.size === 0) break;
  }
  if (open.size > 0) throw new NoPaymentInLineError([...open].toSorted((one, other) => one - other));
  return found;
}

/**
 * Replaces the lines of each payment in parts by one row, which has the sum of their amounts and otherwise the values of
 * the first line. If a line cannot be read, the sum is unknown, so all lines of the payment are rejected. The replaced
 * rows come last.
 */
export async function* summedParts(
  pages: AsyncIterable<CheckedPaymentRow[]>,
  payments: PaymentsInParts,
): AsyncGenerator<CheckedPaymentRow[]> {
  const parts = new Map<string, CheckedPaymentRow[]>();
  for await (const page of pages) {
    const others = page.filter((row) => {
      const key = keyOf(row);
      if (key === undefined || !payments.has(key)) return true;
      const known = parts.get(key);
      if (known) known.push(row);
      else parts.set(key, [row]);
      return false;
    });
    if (others.length > 0) yield others;
  }
  const summed = [...parts.values()].flatMap(summedRows);
  if (summed.length > 0) yield summed;
}

function summedRows(lines: readonly CheckedPaymentRow[]): CheckedPaymentRow[] {
  const readable = lines.flatMap((line) => ("row" in line ? [line] : []));
  const faulty = lines.find((line) => !("row" in line));
  if (faulty) return [...lines.filter((line) => !("row" in line)), ...readable.map((line) => withoutSum(line, faulty))];
  const [first] = readable;
  return first ? [{ ...first, row: { ...first.row, amount: sumOf(readable.map(({ row }) => row.amount)) } }] : [];
}

function withoutSum(
  { position, row }: { readonly position: number; readonly row: PaymentRow },
  faulty: CheckedPaymentRow,
): FaultyPaymentRow {
  const detail = `Line ${faulty.position} is a part of the same payment and cannot be read, so their sum is unknown.`;
  const faults = [{ code: "PARTS_NOT_CLEAR", pointer: `/rows/${position}/amount`, detail }];
  return { position, loan: row.loan, reference: row.reference, faults };
}

/** Adds decimal numbers exactly. The cells of a file have no exponents and no signs. */
function sumOf(amounts: readonly AmountLiteral[]): AmountLiteral {
  const numbers = amounts.map(({ source }) => source.split("."));
  const decimals = Math.max(...numbers.map(([, fraction = ""]) => fraction.length));
  const sum = numbers.reduce(
    (total, [whole = "", fraction = ""]) => total + BigInt(whole + fraction.padEnd(decimals, "0")),
    0n,
  );
  const digits = String(sum).padStart(decimals + 1, "0");
  return new AmountLiteral(decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`);
}

function keyOf(checked: CheckedPaymentRow): string | undefined {
  const { loan, reference } = "row" in checked ? checked.row : checked;
  return loan === null || reference === null ? undefined : JSON.stringify([loan, reference.normalize("NFC")]);
}
