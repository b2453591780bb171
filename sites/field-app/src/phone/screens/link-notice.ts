import type { WholeCase } from "../data/answers.ts";
import { element } from "@collections/web-pages/browser";
import { icon } from "../ui/icon.ts";
import { PATHS } from "../ui/screen.ts";
import { LINK_WORDS } from "../ui/words.ts";

/** Shows the status of the case's live link in one line, which leads to the link's screen. */
export function linkNotice(caseId: string, { id, status }: NonNullable<WholeCase["activeLink"]>): HTMLElement {
  return element(
    "a",
    { class: "notice good", href: PATHS.link(caseId, id) },
    icon("link"),
    element("div", {}, element("b", {}, "Payment link"), ` ${LINK_WORDS[status].toLowerCase()}`),
    icon("forward"),
  );
}
