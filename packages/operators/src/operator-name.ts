const LINK_CHARACTERS = 80;
const MOST_CHARACTERS = 200;
/** The end of the name of an operator who signs in by a provider. */
const OF_PROVIDER = /\svia\s+\S+$/i;

/**
 * The name or the roles of an operator cannot be used.
 *
 * @example
 * const isInvalid = (error: unknown) => error instanceof InvalidOperatorError;
 */
export class InvalidOperatorError extends Error {
  override readonly name = "InvalidOperatorError";
  readonly code = "INVALID_OPERATOR";
}

/**
 * Returns an operator's name without blanks around it. Throws InvalidOperatorError unless the name has 1 to 200 characters
 * and no control characters. The audit shows the name.
 *
 * @example
 * const name = operatorName(" Asha "); // Asha
 */
export function operatorName(text: string): string {
  return checkedName(text, MOST_CHARACTERS);
}

/** Returns the name for a sign-in link, with at most 80 characters. Throws InvalidOperatorError. */
export function linkName(text: string): string {
  return checkedName(text, LINK_CHARACTERS);
}

/**
 * Returns the name for an operator's sign-in link. Refuses a name that only a provider's operator can have, because the
 * audit could not tell the two apart. Throws InvalidOperatorError.
 */
export function linkedOperatorName(text: string): string {
  const name = linkName(text);
  if (!OF_PROVIDER.test(name)) return name;
  throw new InvalidOperatorError(
    `The name "${name}" looks like the name of an operator who signs in by a provider: leave out "${name.match(OF_PROVIDER)![0].trim()}".`,
  );
}

/**
 * Returns the name of an operator who signs in by an OpenID Connect provider: the name that the provider gives, and the
 * host of the issuer. No sign-in link can have such a name. Throws InvalidOperatorError.
 *
 * @example
 * const name = providerOperatorName("asha@bank.example", "https://login.bank.example"); // asha@bank.example via login.bank.example
 */
export function providerOperatorName(given: string, issuer: string): string {
  return operatorName(`${operatorName(given)} via ${new URL(issuer).host}`);
}

/**
 * Returns whether a name is one that `providerOperatorName` gives to operators who sign in by this issuer.
 *
 * @example
 * isProviderOperatorName("asha@bank.example via login.bank.example", "https://login.bank.example"); // true
 */
export function isProviderOperatorName(name: string, issuer: string): boolean {
  return name.endsWith(` via ${new URL(issuer).host}`);
}

function checkedName(text: string, mostCharacters: number): string {
  const name = text.normalize().trim();
  if (name !== "" && name.length <= mostCharacters && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return name;
  throw new InvalidOperatorError(
    `An operator's name has 1 to ${mostCharacters} characters without control characters; got "${name.slice(0, 40)}".`,
  );
}
