import type { WholeCase } from "./answers.ts";
import { element } from "./element.ts";
import { icon } from "./icon.ts";
import { PATHS } from "./screen.ts";
import { LINK_WORDS } from "./words.ts";

/** The case's live link in a line, and the way to it. */
export function linkNotice(caseId: string, { id, status }: NonNullable<WholeCase["activeLink"]>): HTMLElement {
  return element(
    "a",
    { class: "notice good", href: PATHS.link(caseId, id) },
    icon("link"),
    element("div", {}, element("b", {}, "Payment link"), ` ${LINK_WORDS[status].toLowerCase()}`),
    icon("forward"),
  );
}
