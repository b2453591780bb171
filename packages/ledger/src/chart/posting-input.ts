import { isUniqueViolation, type SendOptions } from "@collections/database";
import { type CurrencyCode, isCurrency } from "@collections/money";
import type { KindRules } from "./chart-migrations.ts";

/** The kinds of fault of a posting or an account. */
export type PostingFault =
  | "ACCOUNTS_NOT_A_LIST"
  | "ALREADY_CORRECTED"
  | "ID_INVALID"
  | "KIND_UNKNOWN"
  | "ACCOUNT_UNKNOWN"
  | "ACCOUNT_NOT_ALLOWED"
  | "CURRENCY_MISMATCH"
  | "AMOUNT_INVALID"
  | "MEMO_INVALID"
  | "TIME_INVALID";

/**
 * Thrown for a posting that the chart does not allow, or for an invalid field of a posting or an account. No SQL
 * statement was sent, except for `ALREADY_CORRECTED`: only the database can notice it, and it fails the transaction.
 * `index` is the position of the posting in the call, from 0.
 *
 * @example
 * try {
 *   invoicing.post(tx, { book, kind: "sale", debit: cash, credit: revenue, amountMinor: 11_900n });
 * } catch (error) {
 *   if (error instanceof InvalidPostingError) console.error(error.code, error.index, error.message);
 *   throw error;
 * }
 */
export class InvalidPostingError extends Error {
  override readonly name = "InvalidPostingError";
  readonly code: PostingFault;
  readonly index: number;

  constructor(code: PostingFault, index: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.index = index;
  }
}

/** Creates the error, without throwing it. */
export function invalidPosting(code: PostingFault, index: number, message: string): InvalidPostingError {
  return new InvalidPostingError(code, index, message);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_AMOUNT = 2n ** 63n - 1n;
const MAX_MEMO_CHARS = 1_000;

/** Tells whether a memo can be stored: a text that is not too long, without NUL. */
export function isMemo(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_MEMO_CHARS && !value.includes("\0");
}

/** Checks the reason of a correction, which becomes its memo. */
export function checkReason(reason: unknown): void {
  if (isMemo(reason) && reason.trim() !== "") return;
  const expected = `a text of 1 to ${MAX_MEMO_CHARS} characters that are not all spaces, without NUL`;
  throw new InvalidPostingError("MEMO_INVALID", 0, `The reason is ${shown(reason)}; expected ${expected}.`);
}

/** Checks that the value is a transfer, as `transfersOf` returns it, and not the id of a transfer. */
export function checkTransfer(wrong: unknown): void {
  const { id, book } = (wrong ?? {}) as Readonly<Record<string, unknown>>;
  if (isUuid(id) && isUuid(book)) return;
  const message = `The transfer to correct is ${shown(wrong)}; expected a transfer, as transfersOf returns it.`;
  throw new InvalidPostingError("ID_INVALID", 0, message);
}

/** Turns the violated unique index of corrections into the error for a second correction. */
export function translatorOf(wrong: { readonly id: string }): SendOptions {
  const message = `The transfer ${wrong.id} was corrected already; a transfer can be corrected once.`;
  return {
    translate: (error) =>
      isUniqueViolation(error) ? new InvalidPostingError("ALREADY_CORRECTED", 0, message, { cause: error }) : error,
  };
}

export function isUuid(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}

/** Checks a posting against the chart, and returns its currency. The caller may be JavaScript, so types are checked too. */
export function checkPosting(posting: object, index: number, rules: KindRules): CurrencyCode {
  const { book, kind, debit, credit, amountMinor, subject, memo, effectiveAt } = posting as Record<string, unknown>;
  const fail = (code: PostingFault, message: string): never => {
    throw new InvalidPostingError(code, index, `Posting ${index}: ${message}`);
  };
  const rule = typeof kind === "string" ? rules.get(kind) : undefined;
  if (rule === undefined) {
    return fail("KIND_UNKNOWN", `the chart has no kind ${shown(kind)}; it has ${[...rules.keys()].join(", ")}.`);
  }
  if (!isUuid(book)) return fail("ID_INVALID", `book is ${shown(book)}; expected a UUID.`);
  if (subject !== undefined && subject !== null && !isUuid(subject)) {
    return fail("ID_INVALID", `subject is ${shown(subject)}; expected a UUID, or null.`);
  }
  if (typeof amountMinor !== "bigint" || amountMinor <= 0n || amountMinor > MAX_AMOUNT) {
    return fail(
      "AMOUNT_INVALID",
      `amountMinor is ${shown(amountMinor)}; expected a bigint from 1 to 2^63 - 1, such as 11_900n.`,
    );
  }
  const currencies = (["debit", "credit"] as const).map((side) => {
    const account = side === "debit" ? debit : credit;
    const [name = "", owner, code = "", ...more] = typeof account === "string" ? account.split("/") : [];
    if (!isUuid(owner) || !isCurrency(code) || more.length > 0) {
      return fail(
        "ACCOUNT_UNKNOWN",
        `${side} is ${shown(account)}; expected the id of an account, as account() returns it.`,
      );
    }
    if (!rule[side].includes(name)) {
      return fail(
        "ACCOUNT_NOT_ALLOWED",
        `the kind ${String(kind)} may not ${side} ${name}, only ${rule[side].join(", ")}.`,
      );
    }
    return code;
  });
  const [code, other] = currencies as [CurrencyCode, CurrencyCode];
  if (code !== other) {
    const message = `debit is in ${code} and credit is in ${other}; expected two accounts in the same currency.`;
    return fail("CURRENCY_MISMATCH", message);
  }
  if (debit === credit) {
    return fail("ACCOUNT_NOT_ALLOWED", "debit and credit are the same account; expected two accounts.");
  }
  if (memo !== undefined && !isMemo(memo)) {
    return fail(
      "MEMO_INVALID",
      `memo is ${shown(memo)}; expected a text of at most ${MAX_MEMO_CHARS} characters without NUL.`,
    );
  }
  if (effectiveAt !== undefined && !(effectiveAt instanceof Date && !Number.isNaN(effectiveAt.getTime()))) {
    return fail("TIME_INVALID", `effectiveAt is ${shown(effectiveAt)}; expected a valid Date.`);
  }
  return code;
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
