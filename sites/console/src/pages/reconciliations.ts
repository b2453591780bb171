import { type Html, html } from "../html.ts";
import { choices, factList, lenderForm, listTable, nextPage, queryText } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath, reconciliationPath } from "../paths.ts";
import type {
  DifferencesSearch,
  ReconciliationsPage,
  ReconciliationsSearch,
  ReconciliationView,
} from "../reads/reconciliations.ts";
import { capitalized, countText, words } from "../words.ts";
import { messagePage } from "./message.ts";

const SECTION = "Reconciliations";

/** Reads which reconciliations to show. The desk ignores values that it does not know. */
export function reconciliationsSearchOf(query: URLSearchParams): ReconciliationsSearch {
  return { lender: fieldOf(query, "lender"), after: fieldOf(query, "after") };
}

/** Reads which differences of a reconciliation to show. */
export function differencesSearchOf(
  params: Readonly<Record<string, string>>,
  query: URLSearchParams,
): DifferencesSearch {
  const list = { list: fieldOf(query, "list"), after: fieldOf(query, "after") };
  return { lender: params["lender"]!, runId: params["run"]!, ...list };
}

function fieldOf(query: URLSearchParams, name: string): string | undefined {
  return query.get(name)?.trim().slice(0, 200) || undefined;
}

/** The stored reconciliations of a lender, the latest first. */
export function reconciliationsPage(home: string, page: ReconciliationsPage): PageContent {
  const { lenderCodes, lenderCode: lender, reconciliations, timeZone, next } = page;
  return {
    title: SECTION,
    main: html`<h1>Reconciliations</h1>
      ${lenderForm({ home, path: "/reconciliations" }, lenderCodes, lender)}
      ${reconciliations.length === 0 ? "" : html`<p class="about">Latest first. Times in ${timeZone}.</p>`}
      ${listTable({
        label: "Reconciliations",
        items: reconciliations,
        none:
          lender === undefined
            ? "There is no such lender."
            : `No reconciliation of ${lender} yet. Import compares the payments of a day.`,
        columns: [
          {
            label: "From",
            cell: ({ from, runId }) =>
              html`<a href="${home}${reconciliationPath(lender!, runId)}">${from}</a> <small>${runId}</small>`,
          },
          { label: "To", isShort: true, cell: ({ to }) => to },
          { label: "By", cell: ({ requestedBy }) => capitalized(requestedBy) },
          { label: "File", cell: ({ fileName }) => fileName ?? "–" },
          { label: "Matched", isNumber: true, cell: ({ matched }) => countText(matched) },
          { label: "Differences", isNumber: true, cell: ({ differences }) => countText(differences) },
        ],
      })}
      ${next === null ? "" : nextPage({ home, path: "/reconciliations" }, { lender, after: next }, "Earlier")}`,
  };
}

/** A stored reconciliation, with one list of its differences. */
export function reconciliationPage(home: string, found: ReconciliationView): PageContent {
  const { lenderCode, runId, facts, lists, list, timeZone } = found;
  const at = { home, path: reconciliationPath(lenderCode, runId) };
  const shown = lists.filter(({ name, count }) => count > 0 || name === list);
  return {
    title: `Reconciliation ${runId}`,
    section: SECTION,
    main: html`<h1>Reconciliation</h1>
      <p class="about">${runId} of ${lenderCode}. Times in ${timeZone}.</p>
      <section class="panel">
        ${factList(facts.map(([name, value]) => [words(name), name === "by" ? capitalized(value) : value]))}
      </section>
      ${
        shown.length === 0
          ? html`<p role="status" class="empty">The file and the books agree.</p>`
          : html`${choices(at, {
              label: "Differences",
              all: null,
              chosen: list,
              options: shown.map(({ name, count }) => [name, `${words(name)} (${countText(count)})`]),
              queryOf: (chosen) => queryText({ list: chosen }),
            })}
            ${differencesOf(home, found)}`
      }`,
  };
}

function differencesOf(home: string, found: ReconciliationView): Html {
  const { lenderCode, runId, lists, list, differences, next } = found;
  const meaning = lists.find(({ name }) => name === list)?.meaning ?? "";
  return html`<h2>${words(list ?? "")}</h2>
    <p class="about">${words(meaning)}.</p>
    ${listTable({
      label: "Differences",
      items: differences,
      none: "No difference.",
      columns: [
        {
          label: "Loan",
          cell: ({ loan }) => (loan === null ? "–" : html`<a href="${home}${casePath(lenderCode, loan)}">${loan}</a>`),
        },
        { label: "Reference", cell: ({ reference }) => reference ?? "–" },
        { label: "Line", isNumber: true, isOptional: true, cell: ({ line }) => line ?? "–" },
        { label: "File", isNumber: true, isOptional: true, cell: ({ inFile }) => inFile ?? "–" },
        { label: "Booked", isNumber: true, isOptional: true, cell: ({ booked }) => booked ?? "–" },
        { label: "Paid", isShort: true, isOptional: true, cell: ({ paidAt }) => paidAt ?? "–" },
        { label: "About", isOptional: true, cell: ({ about }) => about || "–" },
      ],
    })}
    ${next === null ? "" : nextPage({ home, path: reconciliationPath(lenderCode, runId) }, { list, after: next }, "Next page")}`;
}

/** The page for an unknown reconciliation, and for one of a lender that the person does not see. */
export function noReconciliationPage(): PageContent {
  return messagePage("Reconciliation not found", "There is no such reconciliation. They are kept for 90 days.");
}
