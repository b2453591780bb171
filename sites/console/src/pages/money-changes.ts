import { type Html, html } from "../html.ts";
import { factList, listTable } from "../list-parts.ts";
import { fieldsOfOrder } from "../money-order.ts";
import type { PageContent } from "../page.ts";
import { casePath, personPath } from "../paths.ts";
import type { MoneyOrder, MoneyRehearsal, PayableView, PaymentName, PaymentView } from "../reads/money-changes.ts";
import { amountsText, countText, words } from "../words.ts";

const CHANGES = "/money/changes";

/** A form whose page shows the effects of a change before it is made. */
function changeForm(home: string, order: Readonly<Record<string, string>>, fields: Html): Html {
  return html`<form method="get" action="${home}${CHANGES}" class="act">
    ${Object.entries(order).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${fields}
    <p class="buttons"><button type="submit">Show the effects</button></p>
  </form>`;
}

function textInput(id: string, label: string, more: { name?: string; type?: string; value?: string } = {}): Html {
  const { name = id, type = "text", value = "" } = more;
  return html`<label for="${id}">${label}</label>
    <input id="${id}" name="${name}" type="${type}" maxlength="500" autocomplete="off" value="${value}" />`;
}

/** The page of a field partner's payout: the sums that are due, and a form for each currency that was paid. */
export function payoutPage(home: string, person: PayableView, done: boolean): PageContent {
  const { fieldPartnerId, displayName, until, sums } = person;
  const form = ({ currency, amount, lines }: PayableView["sums"][number]) =>
    html`<section class="panel">
      <h2>${amountsText([{ amount, currency }])}</h2>
      <p class="about">${countText(lines)} earnings. Send this amount by the bank first, and then record it here.</p>
      ${changeForm(
        home,
        { kind: "payout", fieldPartnerId, currency, amount, until: until ?? "" },
        html`${textInput(`reference-${currency}`, "Bank reference, such as the UTR", { name: "reference" })}
        ${textInput(`paid-on-${currency}`, "Day of the transfer", { name: "paidOn", type: "date" })}`,
      )}
    </section>`;
  return {
    title: "Payout",
    section: "Money",
    main: html`<h1>Payout to ${displayName}</h1>
      ${done ? html`<p class="done" role="status">The payout is recorded.</p>` : ""}
      <p class="about"><a href="${home}${personPath(fieldPartnerId)}">${displayName}</a>, ${fieldPartnerId}.</p>
      ${sums.length === 0 ? html`<p class="empty" role="status">No money is owed.</p>` : sums.map(form)}`,
  };
}

/** The form that finds a payment. */
export function findPaymentForm(home: string, lenderCodes: readonly string[]): Html {
  return html`<form method="get" action="${home}/money/payments" class="act">
    <label for="lenderCode">Lender</label>
    <select id="lenderCode" name="lenderCode">
      ${lenderCodes.map((code) => html`<option>${code}</option>`)}
    </select>
    ${textInput("loan", "Loan")} ${textInput("paymentReference", "Reference", { name: "reference" })}
    <p class="buttons"><button type="submit">Show the payment</button></p>
  </form>`;
}

/** A payment, with the forms that reverse and move it while something is left of it. */
export function paymentPage(home: string, payment: PaymentView, done: "reversal" | "move" | undefined): PageContent {
  const { lenderCode, sourceLoanNumber: loan, reference, currency, amount, left, timeZone } = payment;
  const name = { lenderCode, loan, reference };
  const isLeft = Number(left) > 0;
  return {
    title: "Payment",
    section: "Money",
    main: html`<h1>Payment ${reference}</h1>
      ${done ? html`<p class="done" role="status">The payment is ${done === "move" ? "moved" : "reversed"}.</p>` : ""}
      <section class="panel">
        ${factList([
          ["Lender", lenderCode],
          ["Loan", html`<a href="${home}${casePath(lenderCode, loan)}">${loan}</a>`],
          ["Amount", amountsText([{ amount, currency }])],
          ["Left after reversals", amountsText([{ amount: left, currency }])],
          ["Paid", `${payment.paidAt}, ${words(payment.mode)}`],
        ])}
        ${listTable({
          label: "Reversals",
          items: payment.reversals,
          none: "The payment has no reversal.",
          columns: [
            { label: "Reversal", cell: ({ reversalReference }) => reversalReference },
            { label: "Reason", cell: ({ reason }) => words(reason) },
            { label: "Returned", cell: ({ reversedAt }) => reversedAt },
            { label: "Amount", isNumber: true, cell: (one) => amountsText([{ amount: one.amount, currency }]) },
          ],
        })}
      </section>
      ${
        isLeft
          ? html`<section class="panel">
                <h2>Reverse the payment</h2>
                ${changeForm(
                  home,
                  { kind: "reversal", ...name },
                  html`${textInput("reversalReference", "The lender's id of the reversal")}
                    ${textInput("reversedAt", `When the money was returned, in ${timeZone}`, { type: "datetime-local" })}
                    ${textInput("amount", `Amount in ${currency}, empty for all that is left`)}
                    <label for="because">Reason, which the lender sees</label>
                    <select id="because" name="because" required>
                      <option value="">Choose a reason</option>
                      ${payment.reasons.map((reason) => html`<option value="${reason}">${words(reason)}</option>`)}
                    </select>
                    ${textInput("reversalNote", "Note without personal data (optional)", { name: "note" })}`,
                )}
              </section>
              <section class="panel">
                <h2>Move the payment to another loan</h2>
                ${changeForm(
                  home,
                  { kind: "move", ...name },
                  html`${textInput("toLoan", "Loan to which the payment belongs")}
                  ${textInput("moveNote", "Reason, for the audit", { name: "note" })}`,
                )}
              </section>`
          : ""
      }`,
  };
}

/** The title of each kind of change. */
export const CHANGE_TITLES: Readonly<Record<MoneyOrder["kind"], string>> = {
  payout: "Record the payout",
  reversal: "Reverse the payment",
  move: "Move the payment",
};

/** The page that shows the effects of a change and asks. A refused change is shown with its reason. */
export function changePage(
  home: string,
  order: MoneyOrder,
  { rehearsal, hidden }: { readonly rehearsal: Exclude<MoneyRehearsal, { kind: "not_found" }>; readonly hidden: Html },
): PageContent {
  const title = CHANGE_TITLES[order.kind];
  const back = backPath(order);
  return {
    title,
    section: "Money",
    main: html`<section class="message">
      <h1>${title}</h1>
      ${order.kind === "payout" ? "" : html`<p>Payment ${order.reference} on loan ${order.loan} of ${order.lenderCode}.</p>`}
      ${
        rehearsal.kind === "refused"
          ? html`<p class="problem" role="alert">${rehearsal.detail}</p>
              <p><a href="${home}${back}">Back</a></p>`
          : html`${factList(rehearsal.facts)}
              <p>
                ${order.kind === "payout" ? "A payout cannot be undone here." : "The lender gets events about the change."}
              </p>
              <form method="post" action="${home}${CHANGES}" class="act">
                ${hidden}
                ${fieldsOfOrder(rehearsal.order).map(
                  ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
                )}
                <p class="buttons"><button type="submit">${title}</button> <a href="${home}${back}">Cancel</a></p>
              </form>`
      }
    </section>`,
  };
}

/** Returns the path of the page on which a change begins, and to which its form leads. */
export function backPath(order: MoneyOrder): string {
  return order.kind === "payout" ? payoutPath(order.fieldPartnerId) : paymentPath(order);
}

/** Returns the path of a field partner's payout. */
export function payoutPath(fieldPartnerId: string): string {
  return `/money/payouts/${encodeURIComponent(fieldPartnerId)}`;
}

/** Returns the path of a payment. */
export function paymentPath({ lenderCode, loan, reference }: PaymentName): string {
  return `/money/payments/${[lenderCode, loan, reference].map(encodeURIComponent).join("/")}`;
}
