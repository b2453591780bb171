/** Limits of time end hung tests, and nothing else: a machine may be ten times slower than the one at hand. */
export const TEST_LIMIT_MS = 10 * 60_000;

/** The limit of `expect.poll` and of `until`. It is below the limit of a test, so that the failure shows the last value. */
export const POLL_LIMIT_MS = 5 * 60_000;
