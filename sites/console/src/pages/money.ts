import type { ConsoleOperator } from "../access.ts";
import { html } from "../html.ts";
import { listTable, nextPage } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { personPath } from "../paths.ts";
import { findPaymentForm, payoutPath } from "./money-changes.ts";
import type { MoneyPage, MoneySearch } from "../reads/money.ts";
import { amountsText, countText, words } from "../words.ts";

/** Reads which page of the payouts to show. The desk ignores a value that it does not know. */
export function moneySearchOf(query: URLSearchParams): MoneySearch {
  return { dueAfter: query.get("dueAfter")?.trim().slice(0, 200) || undefined };
}

/** The payouts that are due. With the role `money`, the forms for payouts, reversals and moves. */
export function moneyPage(home: string, page: MoneyPage, operator: ConsoleOperator): PageContent {
  const mayChange = operator.roles.includes("money");
  const { due, dueNext } = page;
  const at = { home, path: "/money" };
  return {
    title: "Money",
    main: html`<h1>Money</h1>
      ${mayChange ? html`<p class="acts"><a href="${home}/money/requests">Requests for a second person</a></p>` : ""}
      <section class="panel">
        <h2>Payouts due</h2>
        ${listTable({
          label: "Payouts due",
          items: due,
          none:
            dueNext === null
              ? "No money is owed. A commission is owed once its case has ended."
              : "No money is owed to these people. Continue with the next page.",
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
        ${dueNext === null ? "" : nextPage(at, { dueAfter: dueNext }, "Next page of payouts")}
      </section>
      ${
        mayChange
          ? html`<section class="panel">
              <h2>Reverse or move a payment</h2>
              ${findPaymentForm(home, page.lenderCodes)}
            </section>`
          : ""
      }`,
  };
}
