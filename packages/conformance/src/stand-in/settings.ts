/**
 * The endpoints to test, and how to test them. The settings have the names of the command's options.
 *
 * @example
 * const settings: Settings = {
 *   receiver: new URL("http://localhost:4000/hooks/collections"), mint: undefined, mintAuthHeader: undefined,
 *   key: { keyId: "lk_sandbox_7f3a", secret }, secondKey: undefined, currency: "INR", lenderCode: "ACME",
 *   state: undefined, stateAuthHeader: undefined, stateLagMs: 5_000, servicePort: undefined,
 *   loan: undefined, timeoutMs: 10_000,
 * };
 */
export interface Settings {
  readonly receiver: URL | undefined;
  readonly mint: URL | undefined;
  readonly key: Key;
  /** The new signing key, for the check of a key rotation. */
  readonly secondKey: Key | undefined;
  readonly mintAuthHeader: Header | undefined;
  /** The lender's state URL, with `{loan}` for the loan number. */
  readonly state: string | undefined;
  readonly stateAuthHeader: Header | undefined;
  /** The time that the lender may take after its answer until the state URL shows an event. */
  readonly stateLagMs: number;
  /** The local port on which the kit answers, in place of the service, when a receiver reads a case. */
  readonly servicePort: number | undefined;
  /** The lender's URL that reconciles the payments in its body. Its checks need `servicePort`, too. */
  readonly reconcile?: URL | undefined;
  /** A loan number that the mint endpoint knows. */
  readonly loan: string | undefined;
  readonly currency: string;
  readonly lenderCode: string;
  /** The time limit of each request, until the end of its answer. contract: Limits */
  readonly timeoutMs: number;
}

/** An API key that signs the calls. `secret` is complete, with its prefix. */
export interface Key {
  readonly keyId: string;
  readonly secret: string;
}

/** A header with the lender's token, which is sent with each call to an endpoint. */
export interface Header {
  readonly name: string;
  readonly value: string;
}

/** Returns the secrets in the settings. No report may contain them. */
export function secretsOf(settings: Settings): string[] {
  const { key, secondKey, mintAuthHeader, stateAuthHeader } = settings;
  const headerValues = [mintAuthHeader, stateAuthHeader].flatMap((header) => (header ? [header.value] : []));
  // In `Bearer abc` the word `abc` alone is a secret too.
  const words = headerValues.flatMap((value) => value.split(" ").slice(-1));
  return [key.secret, ...(secondKey ? [secondKey.secret] : []), ...headerValues, ...words];
}
