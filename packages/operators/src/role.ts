/**
 * The roles of operators. `viewer` reads, `operator` also changes cases and lenders' settings, and `money` also pays out,
 * reverses and moves payments.
 *
 * @example
 * const isRole = OPERATOR_ROLES.some((role) => role === "viewer");
 */
export const OPERATOR_ROLES = ["viewer", "operator", "money"] as const;

/** A role of an operator. */
export type OperatorRole = (typeof OPERATOR_ROLES)[number];
