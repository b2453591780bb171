/**
 * Thrown if a command line or a setting is invalid; the message says what to change.
 *
 * @example
 * const results = await runChecks(settings, chosenChecks(settings, []), listener).catch((error: unknown) => {
 *   if (!(error instanceof UsageError)) throw error;
 *   console.error(error.message); // such as: the service port is taken
 *   return [];
 * });
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "USAGE";
}
