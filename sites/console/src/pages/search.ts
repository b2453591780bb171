import type { Finding } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { casePath, deliveryPath, personPath, reconciliationPath } from "../paths.ts";
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

function result(home: string, found: Finding): Html {
  const { kind, lenderCode, id, sourceLoanNumber: loan, state, label } = found;
  const path = pathOf(found);
  const title = label === "" ? (loan ?? id) : label;
  const ofLoan = lenderCode !== null && loan !== null ? casePath(lenderCode, loan) : undefined;
  // The loan is a link of its own only if the title leads to another page.
  const loanText = ofLoan === undefined || ofLoan === path ? loan : html`<a href="${home}${ofLoan}">${loan}</a>`;
  const facts: readonly (readonly [string, Html | string | null])[] = [
    ["Lender", lenderCode],
    ["Loan", loanText],
    ["Id", id],
  ];
  return html`<li>
    <p class="kind">${words(kind)} <span class="state">${words(state)}</span></p>
    <h2>${path === undefined ? title : html`<a href="${home}${path}">${title}</a>`}</h2>
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
  </li>`;
}

/** Returns the path of the page that shows more of a finding: its own page, or that of its loan. */
function pathOf({ kind, lenderCode, id, sourceLoanNumber }: Finding): string | undefined {
  if (kind === "field_partner") return personPath(id);
  if (kind === "event") return deliveryPath(id);
  if (lenderCode === null) return undefined;
  if (kind === "reconciliation") return reconciliationPath(lenderCode, id);
  return sourceLoanNumber === null ? undefined : casePath(lenderCode, sourceLoanNumber);
}

function personLinks(home: string, id: string): Html {
  return html`<p class="links">
    <a href="${home}${personPath(id, "phone")}">New phone number</a>
    <a href="${home}${personPath(id, "move")}">Move all cases</a>
  </p>`;
}
