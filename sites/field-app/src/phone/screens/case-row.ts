import type { CaseRow } from "../data/answers.ts";
import { element } from "@collections/web-pages/browser";
import { pill } from "../ui/parts.ts";
import { PATHS } from "../ui/screen.ts";
import { distance, labelOf } from "../ui/words.ts";

/** Creates the row of a case in a list: borrower, address, amount, and the reason to visit now. */
export function caseRow(shown: CaseRow): HTMLElement {
  const { id, borrower, outstanding, lender, loanTail, distanceM, isShrunk } = shown;
  const name = isShrunk ? `Ended case of ${lender.name}` : borrower.displayName;
  return element(
    "a",
    { class: "row", href: PATHS.case(id) },
    element(
      "span",
      { class: "first" },
      element("b", { class: "name" }, name),
      !isShrunk && element("b", { class: "much" }, outstanding.display),
    ),
    !isShrunk && element("span", { class: "second" }, borrower.address ?? `Loan ${loanTail} · ${lender.name}`),
    element(
      "span",
      { class: "third" },
      pill(labelOf(shown)),
      distanceM !== null && element("span", { class: "far" }, distance(distanceM)),
    ),
  );
}
