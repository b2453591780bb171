import type { SendOptions } from "@collections/database";
import { type CurrencyCode, isCurrency } from "@collections/money";
import type { ChartTransfer } from "./chart.ts";
import type { KindRules } from "./chart-migrations.ts";

/** The kinds of fault of a posting or an account. */
export type PostingFault =
  | "ACCOUNTS_NOT_A_LIST"
  | "ACCOUNT_NOT_OPEN"
  | "ALREADY_CORRECTED"
  | "BELOW_MINIMUM"
  | "CORRECTION_MISMATCH"
  | "FIELD_UNKNOWN"
  | "HOLD_ENDED"
  | "HOLD_EXPIRED"
  | "HOLD_UNKNOWN"
  | "ID_INVALID"
  | "KEY_INVALID"
  | "KEY_REUSED"
  | "KIND_UNKNOWN"
  | "ACCOUNT_UNKNOWN"
  | "ACCOUNT_NOT_ALLOWED"
  | "CURRENCY_MISMATCH"
  | "AMOUNT_INVALID"
  | "MEMO_INVALID"
  | "METADATA_INVALID"
  | "PAGE_INVALID"
  | "TIME_INVALID";

/**
 * Thrown for a posting that the chart does not allow, for an invalid field of a posting or an account, and for the balance
 * of an account that is not open. No SQL statement was sent, except for `ACCOUNT_NOT_OPEN`, `KEY_REUSED`, `BELOW_MINIMUM`,
 * `ALREADY_CORRECTED` and `CORRECTION_MISMATCH`: only the database can notice them. The last three fail the transaction.
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

/** Checks that the amount of a correction is above 0 and at most the amount of the transfer. */
export function checkPart(part: unknown, whole: unknown): void {
  if (typeof whole === "bigint" && typeof part === "bigint" && part > 0n && part <= whole) return;
  const message = `amountMinor is ${shown(part)}; expected a bigint from 1 to ${shown(whole)}, the amount of the transfer.`;
  throw new InvalidPostingError("AMOUNT_INVALID", 0, message);
}

const MAX_KEY_CHARS = 200;

/** Checks the key of `postOnce`, and that its postings are in one book. */
export function checkKey(key: unknown, book: unknown, postings: readonly { readonly book: string }[]): void {
  if (typeof key !== "string" || key === "" || key.length > MAX_KEY_CHARS || key.includes("\0")) {
    const expected = `a text of 1 to ${MAX_KEY_CHARS} characters without NUL, such as the id of the request`;
    throw new InvalidPostingError("KEY_INVALID", 0, `The key is ${shown(key)}; expected ${expected}.`);
  }
  if (!isUuid(book)) throw new InvalidPostingError("ID_INVALID", 0, `book is ${shown(book)}; expected a UUID.`);
  if (postings.length === 0) {
    throw new InvalidPostingError("KEY_INVALID", 0, `The key ${shown(key)} has no postings; expected one or more.`);
  }
  const other = postings.findIndex((posting) => posting.book !== book);
  if (other === -1) return;
  const message = `Posting ${other} is in the book ${shown(postings[other]?.book)}, and the key is in ${book}.`;
  throw new InvalidPostingError("ID_INVALID", other, message);
}

/** The constraint that the trigger `require_corrected` names when it rejects a correction. */
const CORRECTION_FAULTS: Readonly<Record<string, PostingFault>> = {
  transfer_corrected_once: "ALREADY_CORRECTED",
  transfer_correction: "CORRECTION_MISMATCH",
};

/** Turns the database's rejection of postings that take too much from an account into an error that says which. */
export function minimumTranslator(
  postings: readonly { readonly debitAccount: string; readonly creditAccount: string }[],
): SendOptions {
  return {
    translate(error) {
      if (constraintOf(error) !== "account_minimum") return error;
      const { message, detail: account, column } = error as Error & { detail?: string; column?: string };
      const side = column === "debit_account" ? "debitAccount" : "creditAccount";
      const index = postings.findIndex((posting) => posting[side] === account);
      const text = `Posting ${index}: ${message}; post at most what the account has.`;
      return new InvalidPostingError("BELOW_MINIMUM", index, text, { cause: error });
    },
  };
}

/** Turns the database's rejection of a correction into an error that says what to do. */
export function correctionTranslator(wrong: ChartTransfer): SendOptions {
  const ofMinimum = minimumTranslator([{ debitAccount: wrong.credit, creditAccount: wrong.debit }]);
  return {
    translate(error) {
      const code = CORRECTION_FAULTS[constraintOf(error) ?? ""];
      if (code === undefined) return ofMinimum.translate?.(error) ?? error;
      const remedy =
        code === "ALREADY_CORRECTED"
          ? "transfersOf shows its corrections"
          : "pass a transfer as transfersOf returns it";
      const message = `The transfer ${wrong.id} cannot be corrected: ${(error as Error).message}; ${remedy}.`;
      return new InvalidPostingError(code, 0, message, { cause: error });
    },
  };
}

/** The constraint that rejected a row, as PostgreSQL names it. */
export function constraintOf(error: unknown): string | undefined {
  return error instanceof Error && "constraint" in error ? String(error.constraint) : undefined;
}

const SHARED_FIELDS = ["book", "kind", "debit", "credit", "amountMinor", "subject", "memo", "metadata"];
const POSTING_FIELDS = [...SHARED_FIELDS, "effectiveAt"];
const HOLD_FIELDS = [...SHARED_FIELDS, "expiresAt"];
const ACCOUNT_FIELDS = ["book", "kind", "ownerId", "currency"];

/** Rejects a field that is not one of an account to open. */
export function checkAccountFields(account: object, index: number): void {
  rejectUnknownField(account, ACCOUNT_FIELDS, `Account ${index}`, index);
}

/** A misspelt optional field would otherwise be ignored, and its content lost for ever. */
function rejectUnknownField(given: object, known: readonly string[], what: string, index: number): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const message = `${what} has the unknown field ${shown(unknown)}; expected ${known.join(", ")}.`;
  throw new InvalidPostingError("FIELD_UNKNOWN", index, message);
}

export function isUuid(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}

/** Splits the id of an account. Returns undefined for a value that is no such id. */
export function partsOfAccount(value: unknown): { kind: string; currency: CurrencyCode } | undefined {
  const [kind = "", owner, code = "", ...more] = typeof value === "string" ? value.split("/") : [];
  return isUuid(owner) && isCurrency(code) && more.length === 0 ? { kind, currency: code } : undefined;
}

/** Checks a hold against the chart, and returns its currency. */
export function checkHold(hold: object, rules: KindRules): CurrencyCode {
  rejectUnknownField(hold, HOLD_FIELDS, "The hold", 0);
  const { expiresAt, ...posting } = hold as Record<string, unknown>;
  if (expiresAt instanceof Date && expiresAt.getTime() > Date.now()) return checkPosting(posting, 0, rules);
  throw new InvalidPostingError("TIME_INVALID", 0, `expiresAt is ${shown(expiresAt)}; expected a Date in the future.`);
}

/** Checks a posting against the chart, and returns its currency. The caller may be JavaScript, so types are checked too. */
export function checkPosting(posting: object, index: number, rules: KindRules): CurrencyCode {
  rejectUnknownField(posting, POSTING_FIELDS, `Posting ${index}`, index);
  const { book, kind, debit, credit, amountMinor, subject, memo, metadata, effectiveAt } = posting as Record<
    string,
    unknown
  >;
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
    const parts = partsOfAccount(account);
    if (!parts) {
      return fail(
        "ACCOUNT_UNKNOWN",
        `${side} is ${shown(account)}; expected the id of an account, as account() returns it.`,
      );
    }
    if (!rule[side].includes(parts.kind)) {
      return fail(
        "ACCOUNT_NOT_ALLOWED",
        `the kind ${String(kind)} may not ${side} ${parts.kind}, only ${rule[side].join(", ")}.`,
      );
    }
    return parts.currency;
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
  const metadataFault = faultOfMetadata(metadata);
  if (metadataFault !== undefined) return fail("METADATA_INVALID", `metadata ${metadataFault}.`);
  if (effectiveAt !== undefined && !(effectiveAt instanceof Date && !Number.isNaN(effectiveAt.getTime()))) {
    return fail("TIME_INVALID", `effectiveAt is ${shown(effectiveAt)}; expected a valid Date.`);
  }
  return code;
}

const MAX_METADATA_CHARS = 4_000;

function faultOfMetadata(metadata: unknown): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  if (typeof metadata !== "object" || Array.isArray(metadata))
    return `is ${shown(metadata)}; expected an object, or null`;
  let json: string | undefined;
  try {
    json = JSON.stringify(metadata);
  } catch (error) {
    return `cannot be written as JSON (${(error as Error).message}); expected texts, numbers, booleans, lists and objects`;
  }
  if (!json?.startsWith("{")) return `is ${shown(json)} as JSON; expected an object, or null`;
  if (json.length > MAX_METADATA_CHARS) {
    return `has ${json.length} characters as JSON; expected at most ${MAX_METADATA_CHARS}`;
  }
  // jsonb has no NUL, and PostgreSQL's UTF-8 has no half of a surrogate pair. JSON.stringify writes both as escapes.
  const escape = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/.exec(json);
  return escape ? "has a text with NUL or with half of a surrogate pair; expected texts without them" : undefined;
}

export function shown(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
