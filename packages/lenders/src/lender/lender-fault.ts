/** The kinds of fault in a field of a lender. */
export type LenderFaultCode =
  | "REQUIRED"
  | "INVALID_CODE"
  | "DUPLICATE_CODE"
  | "INVALID_TEXT"
  | "INVALID_COUNTRY"
  | "INVALID_CURRENCY"
  | "INVALID_LANGUAGE"
  | "INVALID_TIME_ZONE"
  | "INVALID_TIME"
  | "INVALID_EMAIL"
  | "INVALID_URL"
  | "INVALID_HOST"
  | "INVALID_HEADER"
  | "INVALID_UPI_ID"
  | "INVALID_BANK"
  | "INVALID_PERCENT"
  | "INVALID_WHATSAPP"
  | "INVALID_RATE_LIMIT"
  | "INVALID_DATE"
  | "INVALID_DAYS";

/** An invalid field of a lender. `detail` says what is expected, and never contains a secret. */
export interface LenderFault {
  readonly code: LenderFaultCode;
  readonly field: string;
  readonly detail: string;
}

/**
 * Thrown for invalid fields of a lender. `code`, `field` and `detail` describe the first fault; `faults` has all
 * faults.
 *
 * @example
 * try {
 *   await transaction(em, (tx) => updateLender(tx, vault, lenderId, { commissionPercent: "two" }));
 * } catch (error) {
 *   if (error instanceof InvalidLenderError) console.error(error.faults);
 * }
 */
export class InvalidLenderError extends Error {
  override readonly name = "InvalidLenderError";
  readonly code: LenderFaultCode;
  readonly field: string;
  readonly detail: string;
  readonly faults: readonly LenderFault[];

  constructor(faults: readonly [LenderFault, ...LenderFault[]]) {
    super(faults.map(({ field, detail }) => `${field}: ${detail}`).join(" "));
    const [{ code, field, detail }] = faults;
    this.code = code;
    this.field = field;
    this.detail = detail;
    this.faults = faults;
  }
}

/**
 * Thrown if there is no lender with this id.
 *
 * @example
 * const lender = await lenderById(em, lenderId);
 * if (lender === undefined) throw new LenderNotFoundError(lenderId);
 */
export class LenderNotFoundError extends Error {
  override readonly name = "LenderNotFoundError";
  readonly code = "LENDER_NOT_FOUND";
  readonly lenderId: string;

  constructor(lenderId: string) {
    super(`There is no lender ${lenderId}.`);
    this.lenderId = lenderId;
  }
}

/**
 * Thrown for an action that is not possible while the lender is suspended.
 *
 * @example
 * const { state, code } = (await lenderById(em, lenderId))!;
 * if (state === "suspended") throw new LenderSuspendedError(code);
 */
export class LenderSuspendedError extends Error {
  override readonly name = "LenderSuspendedError";
  readonly code = "LENDER_SUSPENDED";
  readonly lenderCode: string;

  constructor(lenderCode: string) {
    super(`Lender ${lenderCode} is suspended. Resume it first: lender resume ${lenderCode} --reason …`);
    this.lenderCode = lenderCode;
  }
}

/**
 * Thrown if the lender has no such API key, or if the state of the key does not allow the action.
 *
 * @example
 * try {
 *   await transaction(em, (tx) => revokeKey(tx, { lenderId, keyId, reason: "Leaked" }));
 * } catch (error) {
 *   if (error instanceof ApiKeyNotUsableError && error.code === "API_KEY_LAST") console.error("Create another first.");
 * }
 */
export class ApiKeyNotUsableError extends Error {
  override readonly name = "ApiKeyNotUsableError";
  readonly code: "API_KEY_NOT_FOUND" | "API_KEY_REVOKED" | "API_KEY_RETIRED" | "API_KEY_LAST";
  readonly keyId: string;

  constructor(code: ApiKeyNotUsableError["code"], keyId: string, message: string) {
    super(message);
    this.code = code;
    this.keyId = keyId;
  }
}
