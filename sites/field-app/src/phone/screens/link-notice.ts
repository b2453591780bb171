import type { WholeCase } from "../data/answers.ts";
import { element } from "@collections/web-pages/browser";
import { texts } from "../language/current.ts";
import { icon } from "../ui/icon.ts";
import { PATHS } from "../ui/screen.ts";

/** Shows the status of the case's live link in one line, which leads to the link's screen. */
export function linkNotice(caseId: string, { id, status }: NonNullable<WholeCase["activeLink"]>): HTMLElement {
  return element(
    "a",
    { class: "notice good", href: PATHS.link(caseId, id) },
    icon("link"),
    element("div", {}, texts().link.notice[status]),
    icon("forward"),
  );
}
