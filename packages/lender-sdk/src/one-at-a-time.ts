/** Runs work that has the same key one after the other, in the order of asking. Different keys do not wait. */
export class OneAtATime {
  readonly #last: Map<string, Promise<unknown>> = new Map();

  /** Settles as `work` does; what ran before it, however it ended, does not matter. */
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
