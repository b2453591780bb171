import type { CaseRow } from "./answers.ts";
import { element } from "./element.ts";
import { pill } from "./parts.ts";
import { PATHS } from "./screen.ts";
import { distance, labelOf } from "./words.ts";

/** A case in a list: who, where, how much, and why now. */
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
