/**
 * Limits of time end hung tests, and nothing else. A test that takes a minute of processor time takes ten minutes if three
 * workers share a third of a processor.
 */
export const TEST_LIMIT_MS = 30 * 60_000;

/** The limit of `expect.poll` and of `until`. It is below the limit of a test, so that the failure shows the last value. */
export const POLL_LIMIT_MS = 15 * 60_000;

/**
 * `answerTimeoutMs` of the databases that tests of packages open. The default of seconds is for requests, and too short
 * for a statement on a slow machine.
 */
export const ANSWER_LIMIT_MS = 5 * 60_000;
