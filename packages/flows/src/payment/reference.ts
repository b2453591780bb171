import { identityForms } from "@collections/cases";

/**
 * Returns the form in which a reference is booked and compared: Unicode NFC, so that texts that look the same are
 * equal.
 */
export function bookedReference(reference: string): string {
  return reference.normalize("NFC");
}

/** Returns the references under which a payment may already be booked, the likeliest first: see `identityForms`. */
export function possibleReferences(reference: string): string[] {
  return identityForms(reference);
}
