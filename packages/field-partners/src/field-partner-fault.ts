export type FieldPartnerFaultCode = "INVALID_DISPLAY_NAME" | "INVALID_PHONE" | "DUPLICATE_PHONE" | "INVALID_TIME_ZONE";

/** What was given for a field partner is refused; `detail` says what is expected. */
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

/** There is no field partner with this id, or none that is active. */
export class FieldPartnerNotFoundError extends Error {
  override readonly name = "FieldPartnerNotFoundError";
  readonly code = "FIELD_PARTNER_NOT_FOUND";
  readonly fieldPartnerId: string;

  constructor(fieldPartnerId: string) {
    super(`There is no active field partner ${fieldPartnerId}.`);
    this.fieldPartnerId = fieldPartnerId;
  }
}
