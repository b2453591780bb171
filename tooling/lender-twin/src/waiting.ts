interface Waiter {
  isMet: () => boolean;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** What was waited for did not come in time; the message tells what came instead. */
export class NotSeenError extends Error {
  readonly code = "NOT_SEEN";

  constructor(timeoutMs: number, seen: string) {
    super(`What was waited for did not come within ${timeoutMs} ms. ${seen}`);
    this.name = "NotSeenError";
  }
}

/** Promises that are kept when something recorded makes a condition true. */
export class Waiting {
  readonly #waiters: Set<Waiter> = new Set();

  /** Resolves once `isMet()`, asked now and at every `changed()`.
   * @param seen tells, for the error message, what has been recorded so far
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

  /** Something was recorded: asks every waiter again. */
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
