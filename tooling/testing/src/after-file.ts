const callbacks: (() => unknown)[] = [];

/**
 * Runs a callback after all tests of this file, in reverse order of registration. It may be called from anywhere. In
 * contrast, vitest silently ignores an `afterAll` in a test or another hook.
 */
export function afterFile(act: () => unknown): void {
  callbacks.push(act);
}

/** Runs all callbacks, even if some fail, and then throws the first failure. Only the setup file calls it. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = [];
  for (let act = callbacks.pop(); act; act = callbacks.pop()) {
    try {
      await act();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
