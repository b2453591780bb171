import { type Html, html } from "../html.ts";
import { lenderField, listTable, nextPage, queryText } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath } from "../paths.ts";
import type { FeesPage, FeesSearch } from "../reads/fees.ts";
import { amountsText, countText, monthText } from "../words.ts";
import { messagePage } from "./message.ts";

type Line = FeesPage["lines"][number];

/** Reads which statement to show from a query. The desk ignores values that it does not know. */
export function feesSearchOf(query: URLSearchParams): FeesSearch {
  const field = (name: string) => query.get(name)?.trim().slice(0, 200) || undefined;
  return { lender: field("lender"), month: field("month"), after: field("after") };
}

/** The fee statement of a month: the sums, and a line for each commission and each later change. */
export function feesPage(home: string, page: FeesPage): PageContent {
  const { lenderCodes, lenderCode, month, months, timeZone, isOver, next } = page;
  const at = { home, path: "/fees" };
  return {
    title: "Fees",
    section: "Payments",
    main: html`<h1>Fees</h1>
      <form method="get" action="${home}/fees" class="choice">
        ${lenderField(lenderCodes, lenderCode)}
        <label for="month">Month</label>
        <select id="month" name="month">
          ${months.map((one) =>
            one === month
              ? html`<option value="${one}" selected>${monthText(one)}</option>`
              : html`<option value="${one}">${monthText(one)}</option>`,
          )}
        </select>
        <button type="submit" class="plain">Show</button>
      </form>
      ${
        lenderCode === undefined
          ? html`<p role="status" class="empty">There is no such lender.</p>`
          : html`<p class="about">
                The commissions that ${lenderCode} pays for payments booked in ${monthText(month)}. Times in
                ${timeZone}. ${isOver ? "" : "The month is not over, so more may follow."}
              </p>
              ${page.totals.map(totalsOf)} ${page.lines.length === 0 ? "" : csvLink(home, { lenderCode, month })}
              ${linesOf(home, lenderCode, page.lines)}`
      }
      ${next === null ? "" : nextPage(at, { lender: lenderCode, month, after: next }, "Next page")}`,
  };
}

function totalsOf({ currency, charged, takenBack, total }: FeesPage["totals"][number]): Html {
  const tile = (label: string, amount: string, note: string) =>
    html`<div class="tile">
      <span>${label}</span><b>${amountsText([{ amount, currency }])}</b><small>${note}</small>
    </div>`;
  const lines = ({ lines: count }: { readonly lines: number }) =>
    `${countText(count)} ${count === 1 ? "line" : "lines"}`;
  return html`<div class="tiles">
    ${tile(`Total in ${currency}`, total, "as in the ledger")} ${tile("Charged", charged.amount, lines(charged))}
    ${tile("Taken back", takenBack.amount, lines(takenBack))}
  </div>`;
}

function csvLink(home: string, statement: { readonly lenderCode: string; readonly month: string }): Html {
  const query = queryText({ lender: statement.lenderCode, month: statement.month });
  return html`<p class="acts"><a href="${home}/fees.csv?${query}">Download all lines as CSV</a></p>`;
}

function linesOf(home: string, lenderCode: string, lines: readonly Line[]): Html {
  return listTable({
    label: "Lines of the statement",
    items: lines,
    none: "No commission was booked in this month.",
    columns: [
      {
        label: "Payment",
        cell: ({ reference, kind, memo }) =>
          html`${reference} ${kind === "commission" ? "" : html`<small>${memo}</small>`}`,
      },
      {
        label: "Loan",
        cell: ({ sourceLoanNumber: loan }) => html`<a href="${home}${casePath(lenderCode, loan)}">${loan}</a>`,
      },
      { label: "Recorded", isShort: true, cell: ({ recordedAt }) => recordedAt },
      {
        label: "Paid amount",
        isNumber: true,
        cell: ({ paymentAmount: amount, currency }) => amountsText([{ amount, currency }]),
      },
      {
        label: "Rate",
        isNumber: true,
        cell: ({ commissionPercent: percent }) => (percent === null ? "–" : `${percent} %`),
      },
      { label: "Fee", isNumber: true, cell: feeText },
    ],
  });
}

/** Returns the fee of a line, with a minus sign if it was taken back. */
function feeText({ fee, takenBack, currency }: Line): string {
  if (fee !== null) return amountsText([{ amount: fee, currency }]);
  return `− ${amountsText([{ amount: takenBack ?? "0", currency }])}`;
}

/** The page for a statement that does not exist. */
export function noFeesPage(): PageContent {
  return messagePage(
    "Statement not found",
    "There is no such lender or month. A month is written as 2026-11. Open Fees and choose both there.",
  );
}
