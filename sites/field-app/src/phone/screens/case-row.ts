import type { CaseRow } from "../data/answers.ts";
import { element } from "@collections/web-pages/browser";
import { texts } from "../language/current.ts";
import { distance, money } from "../language/formats.ts";
import { pill } from "../ui/parts.ts";
import { PATHS } from "../ui/screen.ts";
import { nameOf } from "../ui/borrower-name.ts";
import { labelOf } from "../ui/words.ts";

/** Creates the row of a case in a list: borrower, amount, address, lender, and the reason to visit now. */
export function caseRow(shown: CaseRow): HTMLElement {
  const { id, borrower, outstanding, lender, loanTail, distanceM, isShrunk } = shown;
  const name = isShrunk ? texts().cases.endedOf(lender.name) : nameOf(borrower);
  return element(
    "a",
    { class: "row", href: PATHS.case(id) },
    element(
      "span",
      { class: "first" },
      element("b", { class: "name" }, name),
      !isShrunk && element("b", { class: "much" }, money(outstanding)),
    ),
    borrower.address !== null && element("span", { class: "second" }, borrower.address),
    !isShrunk && element("span", { class: "second" }, `${lender.name} · •••• ${loanTail}`),
    element(
      "span",
      { class: "third" },
      pill(labelOf(shown)),
      distanceM !== null && element("span", { class: "far" }, distance(distanceM)),
    ),
  );
}
