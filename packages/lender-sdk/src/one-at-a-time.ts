/**
 * Runs tasks with the same key one after the other, in the order of the calls. Tasks with different keys run in
 * parallel.
 */
export class OneAtATime {
  readonly #last: Map<string, Promise<unknown>> = new Map();

  /** Runs `work` after earlier tasks with the same key, even if they failed. Resolves or rejects like `work`. */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const settled = result.then(ignore, ignore);
    this.#last.set(key, settled);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}

function ignore(): void {}
