/** Control, format and other characters that leave no mark, so that two references could look alike and differ. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;

/** The form in which a reference is booked and compared (Unicode NFC): text that looks the same is the same. */
export function bookedReference(reference: string): string {
  return reference.normalize("NFC");
}

/**
 * The references under which a payment may be booked already, the likeliest first. Earlier versions booked the text as
 * it was sent, so that form and the decomposed one (NFD), which some systems write, are looked up too.
 */
export function possibleReferences(reference: string): string[] {
  return [...new Set([reference, bookedReference(reference), reference.normalize("NFD")])];
}

/** Whether a reference has control or invisible characters, such as a zero-width space or a soft hyphen. */
export function hasInvisible(reference: string): boolean {
  return INVISIBLE.test(reference);
}
