import type { ActOutcome } from "../acts.ts";
import { formIdIn } from "../form-check.ts";
import { messagePage } from "../pages/message.ts";
import type { PageContent } from "../page.ts";
import type { RouteAnswer, SignedInVisit } from "../route.ts";

/** A form that was sent, and how to answer it. */
export interface SentForm {
  /** Why the typed values cannot be used; undefined if they can. */
  readonly problem: string | undefined;
  /**
   * Makes the change. It may lead to the page on which it goes on, or return a page with a result that is shown only once:
   * a repeat of the request leads to `doneAt`.
   */
  readonly perform: () => Promise<
    | ActOutcome
    | { readonly kind: "continues"; readonly at: string }
    | { readonly kind: "shows"; readonly page: PageContent }
  >;
  /** The page with the form, the typed values and the problem. */
  readonly again: (problem: string) => Promise<PageContent> | PageContent;
  /** The path to which the operator is redirected after the change. Its query tells the page to confirm the change. */
  readonly doneAt: string;
}

/**
 * Answers a form. Performs the change at most once: a repeat of the request changes nothing. It leads to the same page
 * without a confirmation, because the first request may have failed; the page shows the present state. If the change is
 * refused, shows the form again with the problem and a new id.
 */
export async function answerForm(
  { access, form }: Pick<SignedInVisit, "access" | "form">,
  { problem, perform, again, doneAt }: SentForm,
): Promise<RouteAnswer> {
  if (problem !== undefined) return { page: await again(problem), status: 422 };
  const formId = formIdIn(form);
  if (formId === undefined) return { page: await again("Send the form again: its id is missing."), status: 422 };
  if (!(await access.useForm(formId))) return { redirectTo: unconfirmed(doneAt) };
  const outcome = await perform();
  if (outcome.kind === "not_found")
    return { page: messagePage("Not found", "It does not exist any more."), status: 404 };
  if (outcome.kind === "shows") return { page: outcome.page };
  if (outcome.kind === "continues") return { redirectTo: outcome.at };
  if (outcome.kind === "refused") return { page: await again(outcome.detail), status: 422 };
  return { redirectTo: doneAt };
}

/** Returns a path without the field of its query that confirms a change. */
function unconfirmed(doneAt: string): string {
  const [path = "", query = ""] = doneAt.split("?", 2);
  const fields = new URLSearchParams(query);
  fields.delete("done");
  return fields.size === 0 ? path : `${path}?${fields.toString()}`;
}
