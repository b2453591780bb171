import type { Tx } from "@collections/entities";
import { providerOperatorName } from "./operator-name.ts";
import { knownRoles } from "./role.ts";
import { type OperatorSession, startOperatorSession } from "./session.ts";
import { useForm } from "./used-form.ts";

/** A sign-in that an OpenID Connect provider has confirmed. */
export interface ProviderSignIn {
  /** The id of the attempt, a UUID. An attempt signs in once. */
  readonly attemptId: string;
  /** The URL of the provider's issuer. */
  readonly issuer: string;
  /** The permanent id of the person at the provider. The audit keeps it with the issuer. */
  readonly subject: string;
  /** The name that the provider gives, such as a verified e-mail address. No two persons of the issuer have the same. */
  readonly name: string;
  /** The person's roles. Roles that do not exist are ignored, and at least one must exist. */
  readonly roles: readonly string[];
}

/**
 * Starts a session for an operator who has signed in at an OpenID Connect provider. The caller has checked the provider's
 * answer. Returns undefined if the attempt has signed in before. Throws InvalidOperatorError.
 *
 * @example
 * const attempt = { attemptId: formId, issuer: "https://login.bank.example", subject: "248289761001" };
 * const confirmed = { ...attempt, name: "asha@bank.example", roles: ["viewer"] };
 * const signedIn = await transaction(em, (tx) => signInByProvider(tx, confirmed, now));
 * const name = signedIn?.session.name; // asha@bank.example via login.bank.example
 */
export async function signInByProvider(
  tx: Tx,
  given: ProviderSignIn,
  now: Date,
): Promise<{ token: string; session: OperatorSession } | undefined> {
  const { attemptId, issuer, subject } = given;
  const operator = providerOperatorName(given.name, issuer);
  const roles = knownRoles(given.roles);
  if (!(await useForm(tx, attemptId, now))) return undefined;
  return startOperatorSession(tx, { operator, roles, lenderId: null, provider: { issuer, subject } }, now);
}
