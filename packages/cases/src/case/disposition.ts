/**
 * The results that a visit can end with.
 *
 * @example
 * const disposition = DISPOSITIONS.find((known) => known === "NOT_AT_HOME");
 */
export const DISPOSITIONS = [
  "PAID_VIA_LINK",
  "PAID_ELSEWHERE_CLAIMED",
  "PROMISE_TO_PAY",
  "CALLBACK_REQUESTED",
  "NOT_AT_HOME",
  "DOOR_LOCKED",
  "SHIFTED",
  "ADDRESS_NOT_FOUND",
  "WRONG_PERSON",
  "REFUSED_TO_PAY",
  "HARDSHIP",
  "DISPUTE",
  "DECEASED",
  "UNSAFE",
  "OTHER",
] as const;

/** One of DISPOSITIONS: how a visit ended. */
export type Disposition = (typeof DISPOSITIONS)[number];
