/** How long a caller waits by default. The limit ends hung tests, also on a slow machine. */
export const WAIT_LIMIT_MS = 5 * 60_000;

interface Waiter {
  isMet: () => boolean;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** An expected record did not arrive in time; the message lists what arrived instead. */
export class NotSeenError extends Error {
  readonly code = "NOT_SEEN";

  constructor(timeoutMs: number, seen: string) {
    super(`The expected condition was not met within ${timeoutMs} ms. ${seen}`);
    this.name = "NotSeenError";
  }
}

/** Lets callers wait until a new record makes their condition true. */
export class Waiting {
  readonly #waiters: Set<Waiter> = new Set();

  /** Resolves when `isMet()` returns true, which is checked now and at every `changed()`.
   * @param seen describes for the error message what has been recorded so far
   */
  until(isMet: () => boolean, timeoutMs: number, seen: () => string): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { isMet, resolve, reject };
      const timer = setTimeout(() => finish(() => reject(new NotSeenError(timeoutMs, seen()))), timeoutMs);
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        settle();
      };
      waiter.resolve = () => finish(resolve);
      waiter.reject = (error) => finish(() => reject(error));
      this.#waiters.add(waiter);
    });
  }

  /** Call it after recording something: checks every waiting condition again. */
  changed(): void {
    for (const waiter of this.#waiters) {
      try {
        if (waiter.isMet()) waiter.resolve();
      } catch (error) {
        waiter.reject(error as Error);
      }
    }
  }
}
