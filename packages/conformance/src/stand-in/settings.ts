/**
 * What to test, and how. The names of all settings are those of the command's options.
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
  /** The key that takes over in a rotation. */
  readonly secondKey: Key | undefined;
  readonly mintAuthHeader: Header | undefined;
  /** Where the lender's own view of a loan can be read; `{loan}` stands for the loan number. */
  readonly state: string | undefined;
  readonly stateAuthHeader: Header | undefined;
  /** How long the lender may take to work off an event after its answer, before the state URL shows it. */
  readonly stateLagMs: number;
  /** The port on this machine where the kit answers for the service when a receiver reads a case. */
  readonly servicePort: number | undefined;
  /** A loan number that the mint endpoint knows. */
  readonly loan: string | undefined;
  readonly currency: string;
  readonly lenderCode: string;
  /** For each whole exchange. contract: Limits */
  readonly timeoutMs: number;
}

/** A key that the calls are signed with. `secret` is the whole of it, prefix included. */
export interface Key {
  readonly keyId: string;
  readonly secret: string;
}

/** A header that goes with each call to an endpoint, such as a token of yours. */
export interface Header {
  readonly name: string;
  readonly value: string;
}

/** Every text of the settings that no report may show. */
export function secretsOf(settings: Settings): string[] {
  const { key, secondKey, mintAuthHeader, stateAuthHeader } = settings;
  const headerValues = [mintAuthHeader, stateAuthHeader].flatMap((header) => (header ? [header.value] : []));
  // Of `Bearer abc` the word `abc` alone is the secret.
  const words = headerValues.flatMap((value) => value.split(" ").slice(-1));
  return [key.secret, ...(secondKey ? [secondKey.secret] : []), ...headerValues, ...words];
}
