import { actForm, type Typed } from "../act-form.ts";
import type { PersonOrderKind } from "../acts.ts";
import type { PersonSummary } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { personPath } from "../paths.ts";
import { countText } from "../words.ts";

interface OrderForm extends Typed {
  readonly hidden: Html;
  readonly isDone?: boolean;
}

/** The form that suspends a field partner, or lets a suspended one sign in again. */
export function personOrderPage(
  home: string,
  person: PersonSummary,
  order: PersonOrderKind,
  { hidden, isDone = false, ...typed }: OrderForm,
): PageContent {
  const { fieldPartnerId, displayName } = person;
  const title = order === "suspend" ? "Suspend a field partner" : "Resume a field partner";
  return {
    title,
    section: "Field partners",
    main: html`<section class="message">
      <h1>${title}</h1>
      ${isDone ? doneText(home, person) : ""}
      <p>
        ${
          order === "suspend"
            ? html`Every session of ${displayName}, ${person.phone}, ends, and the person cannot sign in again.`
            : html`${displayName}, ${person.phone}, may sign in again.`
        }
      </p>
      ${actForm({
        ...typed,
        home,
        path: personPath(fieldPartnerId, order),
        hidden,
        needsReason: true,
        reasonNote: "The audit keeps the reason.",
        button: order === "suspend" ? `Suspend ${displayName}` : `Resume ${displayName}`,
        back: personPath(fieldPartnerId),
      })}
    </section>`,
  };
}

function doneText(home: string, { fieldPartnerId, displayName, state, openCases }: PersonSummary): Html {
  const text = state === "suspended" ? `${displayName} is suspended.` : `${displayName} may sign in again.`;
  const cases = openCases === 1 ? "1 open case" : `${countText(openCases)} open cases`;
  return html`<p class="done" role="status">
    ${text}
    ${
      state === "suspended" && openCases > 0
        ? html`The person still has ${cases}:
            <a href="${home}${personPath(fieldPartnerId, "move")}">move them to another field partner</a>.`
        : ""
    }
  </p>`;
}
