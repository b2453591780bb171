/** The kinds of fault in a field of a field partner. */
export type FieldPartnerFaultCode = "INVALID_DISPLAY_NAME" | "INVALID_PHONE" | "DUPLICATE_PHONE" | "INVALID_TIME_ZONE";

/**
 * Thrown for an invalid field of a field partner. `detail` says what is expected.
 *
 * @example
 * try {
 *   await transaction(em, (tx) => createFieldPartner(tx, { displayName: "Asha", phone: "9800000001" }));
 * } catch (error) {
 *   if (error instanceof InvalidFieldPartnerError) console.error(error.code, error.field, error.detail);
 * }
 */
export class InvalidFieldPartnerError extends Error {
  override readonly name = "InvalidFieldPartnerError";
  readonly code: FieldPartnerFaultCode;
  readonly field: "displayName" | "phone" | "timeZone";
  readonly detail: string;

  constructor(code: FieldPartnerFaultCode, field: InvalidFieldPartnerError["field"], detail: string) {
    super(`${field}: ${detail}`);
    this.code = code;
    this.field = field;
    this.detail = detail;
  }
}

/**
 * Thrown if there is no field partner with this id. Functions that need an active field partner also throw it for a
 * suspended one.
 *
 * @example
 * const fieldPartner = await fieldPartnerById(em, fieldPartnerId);
 * if (fieldPartner === undefined) throw new FieldPartnerNotFoundError(fieldPartnerId);
 */
export class FieldPartnerNotFoundError extends Error {
  override readonly name = "FieldPartnerNotFoundError";
  readonly code = "FIELD_PARTNER_NOT_FOUND";
  readonly fieldPartnerId: string;

  constructor(fieldPartnerId: string) {
    super(`There is no active field partner ${fieldPartnerId}.`);
    this.fieldPartnerId = fieldPartnerId;
  }
}
