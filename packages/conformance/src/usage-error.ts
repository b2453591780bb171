/** A command line that cannot be followed; the message says what to change. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "USAGE";
}
