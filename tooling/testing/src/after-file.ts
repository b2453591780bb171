const acts: (() => unknown)[] = [];

/**
 * Does something once all tests of this file have ended; what was asked for last comes first. It may be called from
 * anywhere: vitest ignores, without a word, an `afterAll` that a test or another hook calls.
 */
export function afterFile(act: () => unknown): void {
  acts.push(act);
}

/** Does all that was asked for, whatever fails; the first failure is thrown in the end. For the setup file alone. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = [];
  for (let act = acts.pop(); act; act = acts.pop()) {
    try {
      await act();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
