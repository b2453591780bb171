import type { Lender } from "@collections/lenders";

/** Returns the codes of some lenders, sorted, and one of them: the lender `code`, or the first. */
export function chosenLender(
  given: readonly Lender[],
  code: string | undefined,
): { readonly lenderCodes: string[]; readonly lender: Lender | undefined } {
  const lenders = given.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  const lender = code === undefined ? lenders[0] : lenders.find((one) => one.code === code);
  return { lenderCodes: lenders.map((one) => one.code), lender };
}
