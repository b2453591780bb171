import type { WholeCase } from "../data/answers.ts";
import { element } from "@collections/web-pages/browser";
import { dayOf } from "../language/formats.ts";
import { notice } from "../ui/parts.ts";
import { consequenceWords, returnedWords } from "../ui/reversal-words.ts";

/** Creates a notice for each payment of the case that was reversed, the latest first. */
export function reversalNotices({
  reversals = [],
  earnings,
}: Pick<WholeCase, "reversals" | "earnings">): HTMLElement[] {
  return reversals.toReversed().map((reversal) => {
    const consequence = consequenceWords(reversal, earnings);
    return notice(
      "warn",
      "alert",
      element("b", {}, returnedWords(reversal)),
      consequence === "" ? "" : ` ${consequence}`,
      element("small", { class: "when" }, dayOf(reversal.reversedAt)),
    );
  });
}
