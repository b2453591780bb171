const MAX_CHARACTERS = 80;

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
 * Returns an operator's name without blanks around it. Throws InvalidOperatorError unless the name has 1 to 80 characters
 * and no control characters. The audit shows the name.
 *
 * @example
 * const name = operatorName(" Asha "); // Asha
 */
export function operatorName(text: string): string {
  const name = text.normalize().trim();
  if (name !== "" && name.length <= MAX_CHARACTERS && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return name;
  throw new InvalidOperatorError(
    `An operator's name has 1 to ${MAX_CHARACTERS} characters without control characters; got "${name.slice(0, 40)}".`,
  );
}
