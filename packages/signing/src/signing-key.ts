declare const keyBrand: unique symbol;

/** A secret prepared for many signatures. Printing or serialising it does not show the secret. */
export interface SigningKey {
  readonly [keyBrand]: true;
}

/**
 * The secret is empty. Anybody could make signatures with an empty secret.
 *
 * @example
 * try {
 *   signingKey(process.env["HMAC_SECRET"] ?? "");
 * } catch (error) {
 *   if (error instanceof EmptySecretError) console.error(`HMAC_SECRET: ${error.message}`);
 * }
 */
export class EmptySecretError extends Error {
  override readonly name = "EmptySecretError";
  readonly code = "EMPTY_SECRET";

  constructor() {
    super("The signing secret is empty; pass the whole secret as it was issued.");
  }
}
