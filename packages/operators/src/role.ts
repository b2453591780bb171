import { InvalidOperatorError } from "./operator-name.ts";

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

/** Returns the roles that exist, each once. Throws InvalidOperatorError if there is none. */
export function knownRoles(given: readonly string[]): OperatorRole[] {
  const roles = OPERATOR_ROLES.filter((role) => given.includes(role));
  if (roles.length > 0) return roles;
  throw new InvalidOperatorError(`An operator has at least one role: ${OPERATOR_ROLES.join(", ")}.`);
}
