import { hash } from "node:crypto";

/** The maximum number of loans in a sample. */
const SIZE = 256;
const HEX_DIGITS = 12;

/**
 * A sample of loans: the 256 smallest hashes of their numbers. Two lists with up to 256 loans each have a common hash if
 * they have a common loan. Two longer lists have one if they have many common loans, such as two lists of the same day.
 */
export class LoanSample {
  readonly #hashes = new Set<string>();
  #greatest = "";

  add(loan: string): void {
    const hashed = hash("sha256", loan).slice(0, HEX_DIGITS);
    if (this.#hashes.size === SIZE && hashed >= this.#greatest) return;
    this.#hashes.add(hashed);
    if (this.#hashes.size > SIZE) this.#hashes.delete(this.#greatest);
    this.#greatest = [...this.#hashes].reduce((most, one) => (one > most ? one : most), "");
  }

  /** Returns the hashes in their order. */
  hashes(): string[] {
    return [...this.#hashes].toSorted();
  }
}
