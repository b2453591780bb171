import type { PersonSummary } from "../../desk.ts";
import { type Html, html } from "../../html.ts";
import { withQuery } from "../../paths.ts";
import { words } from "../../words.ts";

/** A search for a field partner. `people` is undefined before the search. */
export interface PersonSearch {
  readonly text: string;
  readonly people: readonly PersonSummary[] | undefined;
}

/** Returns the form that searches a field partner, and what it has found if that is not one person. */
export function personChoice(home: string, path: string, { text, people }: PersonSearch, label: string): Html {
  const isChosen = people?.length === 1;
  return html`<form method="get" action="${home}${path}" class="search" role="search">
      <label for="person">${label}</label>
      <div>
        <input
          id="person"
          name="person"
          type="search"
          required
          minlength="2"
          maxlength="80"
          autocomplete="off"
          value="${isChosen ? "" : text}"
        />
        <button type="submit" class="${isChosen ? "plain" : ""}">Search</button>
      </div>
    </form>
    ${people === undefined || isChosen ? "" : foundPeople(home, path, people)}`;
}

function foundPeople(home: string, path: string, people: readonly PersonSummary[]): Html {
  if (people.length === 0) return html`<p class="problem" role="alert">There is no such field partner.</p>`;
  return html`<ul class="people">
    ${people.map(
      ({ fieldPartnerId, displayName, phone, state }) =>
        html`<li>
          <a href="${home}${withQuery(path, { person: fieldPartnerId })}">${displayName}</a>
          <span>${phone}${state === "active" ? "" : html`, ${words(state)}`}</span>
        </li>`,
    )}
  </ul>`;
}
