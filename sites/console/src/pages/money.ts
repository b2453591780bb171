import type { ConsoleOperator } from "../access.ts";
import { html } from "../html.ts";
import { lenderField, listTable, nextPage } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { personPath } from "../paths.ts";
import { findPaymentForm, payoutPath } from "./money-changes.ts";
import type { MoneyPage, MoneySearch } from "../reads/money.ts";
import { amountsText, countText, words } from "../words.ts";

/** Reads which pages of the lists to show. The desk ignores values that it does not know. */
export function moneySearchOf(query: URLSearchParams): MoneySearch {
  const field = (name: string) => query.get(name)?.trim().slice(0, 200) || undefined;
  return { lender: field("lender"), dueAfter: field("dueAfter"), runsAfter: field("runsAfter") };
}

/** The payouts that are due, and the reconciliations of a lender. */
export function moneyPage(
  home: string,
  { dueAfter, runsAfter }: MoneySearch,
  { page, operator }: { readonly page: MoneyPage; readonly operator: ConsoleOperator },
): PageContent {
  const mayChange = operator.roles.includes("money");
  const { lenderCode: lender, due, dueNext, reconciliations, runsNext } = page;
  const at = { home, path: "/money" };
  return {
    title: "Money",
    main: html`<h1>Money</h1>
      <section class="panel">
        <h2>Payouts due</h2>
        ${listTable({
          label: "Payouts due",
          items: due,
          none:
            dueNext === null ? "No money is owed." : "No money is owed to these people. Continue with the next page.",
          columns: [
            {
              label: "Field partner",
              cell: ({ fieldPartnerId, displayName }) =>
                html`<a href="${home}${personPath(fieldPartnerId)}">${displayName}</a>`,
            },
            { label: "State", cell: ({ state }) => html`<span class="state">${words(state)}</span>` },
            { label: "Earnings", isNumber: true, cell: ({ lines }) => countText(lines) },
            {
              label: "Amount",
              isNumber: true,
              cell: (one) =>
                mayChange
                  ? html`<a href="${home}${payoutPath(one.fieldPartnerId)}">${amountsText([one])}</a>`
                  : amountsText([one]),
            },
          ],
        })}
        ${dueNext === null ? "" : nextPage(at, { lender, runsAfter, dueAfter: dueNext }, "Next page of payouts")}
      </section>
      ${
        mayChange
          ? html`<section class="panel">
              <h2>Reverse or move a payment</h2>
              ${findPaymentForm(home, page.lenderCodes)}
              <p><a href="${home}/money/requests">Changes that wait for a second person</a></p>
            </section>`
          : ""
      }
      <section class="panel">
        <div class="head">
          <h2>Reconciliations</h2>
          <form method="get" action="${home}/money" class="choice">
            ${lenderField(page.lenderCodes, lender)}
            <button type="submit" class="plain">Show</button>
          </form>
        </div>
        ${listTable({
          label: "Reconciliations",
          items: reconciliations,
          none: lender === undefined ? "There is no such lender." : `No reconciliation of ${lender} yet.`,
          columns: [
            { label: "From", cell: ({ from, runId }) => html`${from} <small>${runId}</small>` },
            { label: "To", cell: ({ to }) => to },
            { label: "By", cell: ({ requestedBy }) => requestedBy },
            { label: "File", cell: ({ fileName }) => fileName ?? "–" },
            { label: "Matched", isNumber: true, cell: ({ matched }) => countText(matched) },
            { label: "Differences", isNumber: true, cell: ({ differences }) => countText(differences) },
          ],
        })}
        ${runsNext === null ? "" : nextPage(at, { lender, dueAfter, runsAfter: runsNext }, "Older reconciliations")}
      </section>`,
  };
}
