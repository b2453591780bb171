import type { ReconciliationFault } from "@collections/bookings";
import { hasInvisible, readInstant } from "@collections/cases";
import { AmountLiteral } from "@collections/money";
import { bookedReference } from "../payment/reference.ts";

/** A payment of a lender's own list. */
export interface PaymentRow {
  readonly loan: string;
  /** The reference as it was sent, without blanks at its ends. */
  readonly reference: string;
  /** In major units of the currency of the loan's case. */
  readonly amount: AmountLiteral;
  /** Null if the row does not say when the payment was captured. */
  readonly paidAt: Date | null;
  /** The payment mode of a file's row, or null. A request of the API has none. */
  readonly mode: string | null;
}

/** A row that cannot be compared. `loan` and `reference` are null if they could not be read. */
export interface FaultyPaymentRow {
  readonly position: number;
  readonly loan: string | null;
  readonly reference: string | null;
  readonly faults: readonly ReconciliationFault[];
}

/** A row that was checked. `position` is its index in a request, or its line in a file. */
export type CheckedPaymentRow = { readonly position: number; readonly row: PaymentRow } | FaultyPaymentRow;

const LOAN_CHARACTERS = 64;
const REFERENCE_CHARACTERS = 128;

/**
 * Checks a row of a lender's own list of payments. Its `amount` must be an AmountLiteral of the package money. Whether
 * the amount has too many decimals is checked later, because the row's amount is in the currency of the loan's case.
 * For `loan`, `reference` and `paidAt` the rules of a confirmation apply, but `paidAt` may be absent. Other fields are
 * ignored.
 *
 * @example
 * const raw = { loan: "LN-1001", reference: "UTR402812345678", amount: new AmountLiteral("2500.50") };
 * const checked = checkPaymentRow(raw, 0);
 * if ("faults" in checked) throw new Error(checked.faults.map(({ detail }) => detail).join(" "));
 */
export function checkPaymentRow(raw: unknown, position: number): CheckedPaymentRow {
  const faults: ReconciliationFault[] = [];
  const refuse = (field: string, code: string, detail: string) => {
    // PostgreSQL cannot store NUL and lone surrogates in JSON. A detail can contain them if it quotes a value of the row.
    const storable = detail.toWellFormed().replaceAll("\0", "\uFFFD");
    faults.push({ code, pointer: `/rows/${position}${field === "" ? "" : `/${field}`}`, detail: storable });
    return null;
  };
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    refuse("", "WRONG_TYPE", "Expected an object with loan, reference and amount.");
    return { position, loan: null, reference: null, faults };
  }
  const fields = raw as Record<string, unknown>;
  const loan = readText(fields["loan"], "loan", LOAN_CHARACTERS, refuse);
  const reference = readReference(fields["reference"], refuse);
  const amount = readAmountField(fields["amount"], refuse);
  const paidAt = readPaidAt(fields["paidAt"], refuse);
  if (loan === null || reference === null || amount === null || faults.length > 0) {
    return { position, loan, reference: reference && bookedReference(reference), faults };
  }
  return { position, row: { loan, reference, amount, paidAt, mode: null } };
}

type Refuse = (field: string, code: string, detail: string) => null;

function readText(value: unknown, field: string, mostCharacters: number, refuse: Refuse): string | null {
  if (value === undefined || value === null) return refuse(field, "REQUIRED", `${field}: is required.`);
  if (typeof value !== "string") return refuse(field, "WRONG_TYPE", `${field}: takes a string.`);
  const text = value.trim();
  if (text === "") return refuse(field, "REQUIRED", `${field}: may not be empty.`);
  if (Array.from(text).length > mostCharacters) {
    return refuse(field, "TOO_LONG", `${field}: takes at most ${mostCharacters} characters.`);
  }
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) {
    return refuse(field, "INVALID_TEXT", `${field}: has control characters or half a surrogate pair.`);
  }
  return text;
}

function readReference(value: unknown, refuse: Refuse): string | null {
  const reference = readText(value, "reference", REFERENCE_CHARACTERS, refuse);
  if (reference === null || !hasInvisible(reference)) return reference;
  refuse("reference", "INVALID_TEXT", "reference: has invisible characters; send it without them.");
  return reference;
}

function readAmountField(value: unknown, refuse: Refuse): AmountLiteral | null {
  if (value instanceof AmountLiteral) return value;
  if (value === undefined || value === null) return refuse("amount", "REQUIRED", "amount: is required.");
  return refuse("amount", "WRONG_TYPE", "amount: takes a JSON number in major units, such as 2500 or 2500.5.");
}

function readPaidAt(value: unknown, refuse: Refuse): Date | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") return refuse("paidAt", "WRONG_TYPE", "paidAt: takes a string in ISO 8601.");
  const reading = readInstant(value);
  return "instant" in reading ? reading.instant : refuse("paidAt", reading.fault, `paidAt: ${reading.detail}`);
}
