/** Control, format and other invisible characters. With them, two different references could look the same. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;

/**
 * Returns the form in which a reference is booked and compared: Unicode NFC, so that texts that look the same are
 * equal.
 */
export function bookedReference(reference: string): string {
  return reference.normalize("NFC");
}

/**
 * Returns the references under which a payment may already be booked, the likeliest first. Three forms are looked up:
 * the text as it was sent, which earlier versions booked, the form in which payments are booked now (NFC), and the
 * decomposed form (NFD), which some systems write.
 */
export function possibleReferences(reference: string): string[] {
  return [...new Set([reference, bookedReference(reference), reference.normalize("NFD")])];
}

/**
 * Tells whether a reference has control or invisible characters, such as a zero-width space or a soft hyphen.
 *
 * @example
 * if (hasInvisible(typedNote)) throw new Error("Remove the invisible characters.");
 */
export function hasInvisible(reference: string): boolean {
  return INVISIBLE.test(reference);
}
