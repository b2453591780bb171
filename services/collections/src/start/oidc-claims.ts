import type { OperatorRole } from "@collections/operators";
import { OPERATOR_ROLES } from "@collections/operators";

/** The claims that a provider has signed, or has returned with an access token. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns the operator's roles in a claim, which is one text or a list of texts. Ignores every other value. If no claim has
 * the name, the name is a path: `realm_access.roles` is the member `roles` of the claim `realm_access`.
 */
export function rolesIn(claims: Claims, rolesClaim: string): OperatorRole[] {
  const claim = claimAt(claims, rolesClaim);
  const values = Array.isArray(claim) ? (claim as unknown[]) : [claim];
  return OPERATOR_ROLES.filter((role) => values.includes(role));
}

/**
 * Returns the operator's name in a claim; undefined if it is not a text. An e-mail address counts only if the provider has
 * verified it, and in lower case, so that a person has one name.
 */
export function nameIn(claims: Claims, nameClaim: string): string | undefined {
  const name = claimAt(claims, nameClaim);
  if (typeof name !== "string" || name.trim() === "") return undefined;
  if (nameClaim !== "email") return name;
  return claims["email_verified"] === true ? name.toLowerCase() : undefined;
}

function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split(".").reduce<unknown>((value, member) => memberOf(value, member), claims);
}

function memberOf(value: unknown, member: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, member)) return undefined;
  return (value as Record<string, unknown>)[member];
}
