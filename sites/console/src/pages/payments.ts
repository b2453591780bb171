import type { ConsoleOperator } from "../access.ts";
import { type Html, html } from "../html.ts";
import { choices, type Column, filters, lenderField, listTable, nextPage, queryText, several } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath } from "../paths.ts";
import { paymentPath } from "./money-changes.ts";
import type { PaymentsPage, PaymentsSearch } from "../reads/payments.ts";
import { amountsText, words } from "../words.ts";

type Row = PaymentsPage["rows"][number];

const PAYMENT_COLUMNS: readonly Column<Row>[] = [
  { label: "Mode", cell: ({ about }) => words(about) },
  {
    label: "Reversed",
    isNumber: true,
    cell: ({ reversedAmount: amount, currency }) => (amount === null ? "–" : amountsText([{ amount, currency }])),
  },
];

/** Reads the filters from a query. The desk ignores values that it does not know. */
export function paymentsSearchOf(query: URLSearchParams): PaymentsSearch {
  const field = (name: string) => query.get(name)?.trim().slice(0, 200) || undefined;
  return { lender: field("lender"), kind: field("kind"), until: field("until"), before: field("before") };
}

/** The payments or the reversals of a lender, the latest first. */
export function paymentsPage(
  home: string,
  { until }: PaymentsSearch,
  { page, operator }: { readonly page: PaymentsPage; readonly operator: ConsoleOperator },
): PageContent {
  const { lenderCodes, lenderCode, kind, rows, timeZone, next } = page;
  const at = { home, path: "/payments" };
  const kept = { lender: lenderCode, until };
  const isReversals = kind === "reversals";
  const mayChange = operator.roles.includes("money") && operator.lenderCode === null;
  /** Returns the reference of a payment, with a link to the forms that reverse and move it if the operator may use them. */
  const paymentOf = ({ sourceLoanNumber: loan }: Row, reference: string) =>
    mayChange
      ? html`<a href="${home}${paymentPath({ lenderCode: lenderCode!, loan, reference })}">${reference}</a>`
      : reference;
  return {
    title: "Payments",
    main: html`<h1>Payments</h1>
      ${filters(
        at,
        {
          lender: several(lenderCodes, lenderCode),
          set: [until !== undefined && `recorded until ${until}`],
          clear: queryText({ lender: lenderCode, kind: isReversals ? kind : undefined }),
        },
        html`<form method="get" action="${home}/payments" class="choice">
          ${lenderField(lenderCodes, lenderCode)}
          <label for="until">Recorded until</label>
          <input id="until" name="until" type="date" value="${until ?? ""}" />
          ${isReversals ? html`<input type="hidden" name="kind" value="reversals" />` : ""}
          <button type="submit" class="plain">Show</button>
        </form>`,
      )}
      ${choices(at, {
        label: "List",
        all: "Payments",
        chosen: isReversals ? "reversals" : undefined,
        options: [["reversals", "Reversals"]],
        queryOf: (chosen) => queryText({ ...kept, kind: chosen }),
      })}
      <p class="about">
        Latest first. Times in ${timeZone}.
        <a href="${home}/fees?${queryText({ lender: lenderCode })}">Fees</a>
      </p>
      ${listTable({
        label: isReversals ? "Reversals" : "Payments",
        items: rows,
        none:
          lenderCode === undefined
            ? "There is no such lender."
            : isReversals
              ? "No payment was taken back until this day."
              : "No payment was booked until this day.",
        columns: [
          {
            label: "Reference",
            cell: (row) => (isReversals ? row.reference : paymentOf(row, row.reference)),
          },
          {
            label: "Loan",
            cell: ({ sourceLoanNumber: loan }) => html`<a href="${home}${casePath(lenderCode!, loan)}">${loan}</a>`,
          },
          { label: "Amount", isNumber: true, cell: (one) => amountsText([one]) },
          { label: isReversals ? "Taken back" : "Paid", isShort: true, cell: ({ paidAt }) => paidAt },
          { label: "Recorded", isShort: true, cell: ({ recordedAt }) => recordedAt },
          ...(isReversals ? reversalColumns(paymentOf) : PAYMENT_COLUMNS),
        ],
      })}
      ${next === null ? "" : nextPage(at, { ...kept, kind: isReversals ? kind : undefined, before: next }, "Earlier")}`,
  };
}

function reversalColumns(paymentOf: (row: Row, reference: string) => Html | string): Column<Row>[] {
  return [
    { label: "Reason", cell: ({ about }) => words(about) },
    { label: "Payment", cell: (row) => (row.ofPayment === null ? "–" : paymentOf(row, row.ofPayment)) },
  ];
}
