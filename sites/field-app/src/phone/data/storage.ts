/** The values of one kind that the app stores on this phone. All values of a kind have the same type. */
export class Stored<Value> {
  readonly #prefix: string;

  /** @param kind the prefix of the values' names in the phone's storage; no other kind may use this prefix */
  constructor(kind: string) {
    this.#prefix = `collections.${kind}`;
  }

  /**
   * Reads a value; undefined if there is none or it is unreadable. Omit `key` if only one value of this kind is stored.
   */
  read(key = ""): Value | undefined {
    const text = localStorage.getItem(this.#prefix + key);
    if (text === null) return undefined;
    try {
      return JSON.parse(text) as Value;
    } catch {
      return undefined;
    }
  }

  /** Stores a value until it is overwritten or deleted. Throws a DOMException if the storage is full. */
  write(value: Value, key = ""): void {
    localStorage.setItem(this.#prefix + key, JSON.stringify(value));
  }

  forget(key = ""): void {
    localStorage.removeItem(this.#prefix + key);
  }

  /** Returns the keys that begin with the text `beginning`. */
  keys(beginning = ""): string[] {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(this.#prefix + beginning))
      .map((name) => name.slice(this.#prefix.length));
  }
}
