import { actForm, type Typed } from "../act-form.ts";
import type { LoanView } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { casePath } from "../paths.ts";
import { countText, words } from "../words.ts";
import { personChoice, type PersonSearch } from "./moves/person-choice.ts";

/** The form that assigns a case: the search for a field partner, or the question whether to assign the case to them. */
export function assignPage(
  home: string,
  view: LoanView,
  { hidden, text, people, ...typed }: PersonSearch & Typed & { readonly hidden: Html },
): PageContent {
  const { lenderCode, sourceLoanNumber, borrowerName, erasedAt, holderName } = view;
  const back = casePath(lenderCode, sourceLoanNumber);
  const [chosen] = people?.length === 1 ? people : [];
  return {
    title: "Assign the case",
    section: "Cases",
    main: html`<section class="message">
      <h1>Assign the case</h1>
      <p>
        Loan ${sourceLoanNumber} of ${lenderCode}${erasedAt === null ? html`, ${borrowerName}` : ""}.
        ${holderName === null ? "Nobody has the case." : html`${holderName} has the case.`}
      </p>
      ${
        chosen
          ? html`<dl class="facts">
                <div>
                  <dt>Assign to</dt>
                  <dd>${chosen.displayName}</dd>
                </div>
                <div>
                  <dt>Phone</dt>
                  <dd>${chosen.phone}</dd>
                </div>
                <div>
                  <dt>State</dt>
                  <dd>${words(chosen.state)}</dd>
                </div>
                <div>
                  <dt>Open cases</dt>
                  <dd>${countText(chosen.openCases)}</dd>
                </div>
              </dl>
              ${actForm({
                ...typed,
                home,
                path: `${back}/assign`,
                hidden,
                fields: html`<input type="hidden" name="person" value="${chosen.fieldPartnerId}" />`,
                needsReason: false,
                reasonNote: "The audit keeps the reason.",
                button: "Assign the case",
                back,
              })}
              <h2>Somebody else</h2>`
          : typed.problem === undefined
            ? ""
            : html`<p class="problem" role="alert">${typed.problem}</p>`
      }
      ${personChoice(home, `${back}/assign`, { text, people }, "Name, phone or id of the field partner")}
    </section>`,
  };
}
