import type { Finding } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { personPath } from "../paths.ts";
import { words } from "../words.ts";

/** A searched text, and what it names. `findings` is undefined for a text that cannot be searched. */
export interface Searched {
  readonly text: string;
  readonly findings: readonly Finding[] | undefined;
}

/** The form of the search, and the findings of a searched text. */
export function searchPage(home: string, searched: Searched | undefined): PageContent {
  return {
    title: "Search",
    main: html`<h1>Search</h1>
      <form method="get" action="${home}/search" class="search" role="search">
        <label for="text">An id, loan number, payment reference, link id, phone or name</label>
        <div>
          <input
            id="text"
            name="text"
            type="search"
            required
            minlength="2"
            maxlength="200"
            autocomplete="off"
            value="${searched?.text ?? ""}"
          />
          <button type="submit">Search</button>
        </div>
      </form>
      ${searched ? results(home, searched) : hints()}`,
  };
}

function hints(): Html {
  return html`<p class="about">
    Finds cases, visits, payments, reversals, links, events, reconciliations and field partners. The end of a loan
    number, the last digits of a phone, and words of a borrower's name are enough.
  </p>`;
}

function results(home: string, { text, findings }: Searched): Html {
  if (findings === undefined) return html`<p role="status">Search for 2 to 200 characters.</p>`;
  if (findings.length === 0)
    return html`<p role="status">Nothing is called “${text}”. Check the number, or search for a part of it.</p>`;
  const count = findings.length === 1 ? "1 result" : `${findings.length} results`;
  return html`<p role="status" class="about">${count} for “${text}”</p>
    <ul class="results">
      ${findings.map((one) => result(home, one))}
    </ul>`;
}

function result(home: string, { kind, lenderCode, id, sourceLoanNumber, state, label, next }: Finding): Html {
  const title = label === "" ? (sourceLoanNumber ?? id) : label;
  const facts: readonly (readonly [string, string | null])[] = [
    ["Lender", lenderCode],
    ["Loan", sourceLoanNumber],
    ["Id", id],
  ];
  return html`<li>
    <p class="kind">${words(kind)} <span class="state">${words(state)}</span></p>
    <h2>
      ${lenderCode !== null && sourceLoanNumber !== null ? html`<a href="${home}/cases/${encodeURIComponent(lenderCode)}/${encodeURIComponent(sourceLoanNumber)}">${title}</a>` : title}
    </h2>
    <dl>
      ${facts.flatMap(([name, value]) =>
        value === null
          ? []
          : [
              html`<div>
                <dt>${name}</dt>
                <dd>${value}</dd>
              </div>`,
            ],
      )}
    </dl>
    ${kind === "field_partner" ? personLinks(home, id) : ""}
    ${next === null ? "" : html`<p class="next">More: <code>${next}</code></p>`}
  </li>`;
}

function personLinks(home: string, id: string): Html {
  return html`<p class="links">
    <a href="${home}${personPath(id, "phone")}">New phone number</a>
    <a href="${home}${personPath(id, "move")}">Move all cases</a>
  </p>`;
}
