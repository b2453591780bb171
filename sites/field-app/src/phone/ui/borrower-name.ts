import { texts } from "../language/current.ts";

/** Returns the name of a borrower, or a text in its place if the borrower's personal data were erased. */
export function nameOf({ displayName }: { readonly displayName: string }): string {
  return displayName === "" ? texts().cases.erased : displayName;
}
