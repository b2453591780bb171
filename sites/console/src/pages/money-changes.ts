import { type Html, html } from "../html.ts";
import { factList, listTable } from "../list-parts.ts";
import { fieldsOfOrder } from "../money-order.ts";
import type { PageContent } from "../page.ts";
import { casePath, personPath } from "../paths.ts";
import type { MoneyOrder, MoneyRehearsal, PayableView, PaymentName, PaymentView } from "../reads/money-changes.ts";
import { amountsText, countText, words } from "../words.ts";

const CHANGES = "/money/changes";

/** A change that was refused, as it was typed. Its page shows the values again. */
export interface RefusedChange {
  readonly order: MoneyOrder;
  readonly problem: string;
}

/** Returns what was typed into the form of one kind of change. */
function typedIn<Kind extends MoneyOrder["kind"]>(
  refused: RefusedChange | undefined,
  kind: Kind,
): Partial<Extract<MoneyOrder, { kind: Kind }>> & { readonly problem?: string } {
  if (refused?.order.kind !== kind) return {};
  return { ...(refused.order as Extract<MoneyOrder, { kind: Kind }>), problem: refused.problem };
}

function problemLine(problem: string | undefined): Html {
  return problem === undefined ? html`` : html`<p class="problem" role="alert">${problem}</p>`;
}

/** A form whose page shows the effects of a change before it is made. */
function changeForm(
  home: string,
  order: Readonly<Record<string, string>>,
  { fields, problem }: { readonly fields: Html; readonly problem: string | undefined },
): Html {
  return html`<form method="get" action="${home}${CHANGES}" class="act">
    ${problemLine(problem)}
    ${Object.entries(order).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${fields}
    <p class="buttons"><button type="submit">Show the effects</button></p>
  </form>`;
}

interface TextInput {
  readonly name?: string;
  readonly type?: string;
  readonly value?: string | undefined;
}

function textInput(id: string, label: string, { name = id, type = "text", value = "" }: TextInput = {}): Html {
  return html`<label for="${id}">${label}</label>
    <input id="${id}" name="${name}" type="${type}" maxlength="500" autocomplete="off" value="${value}" />`;
}

/** The page of a field partner's payout: the sums that are due, and a form for each currency that was paid. */
export function payoutPage(
  home: string,
  person: PayableView,
  { done = false, refused }: { readonly done?: boolean; readonly refused?: RefusedChange },
): PageContent {
  const { fieldPartnerId, displayName, until, sums } = person;
  const typed = typedIn(refused, "payout");
  const hasForm = sums.some(({ currency }) => currency === typed.currency);
  const formOf = (currency: string) => {
    const { problem, reference, paidOn } = currency === typed.currency ? typed : {};
    const name = { name: "reference", value: reference };
    const fields = html`${textInput(`reference-${currency}`, "Bank reference, such as the UTR", name)}
    ${textInput(`paid-on-${currency}`, "Day of the transfer", { name: "paidOn", type: "date", value: paidOn })}`;
    return { fields, problem };
  };
  const form = ({ currency, amount, lines }: PayableView["sums"][number]) =>
    html`<section class="panel">
      <h2>${amountsText([{ amount, currency }])}</h2>
      <p class="about">
        ${countText(lines)} ${lines === 1 ? "earning" : "earnings"}. Send this amount by the bank first, and then record
        it here.
      </p>
      ${changeForm(home, { kind: "payout", fieldPartnerId, currency, amount, until: until ?? "" }, formOf(currency))}
    </section>`;
  return {
    title: "Payout",
    section: "Money",
    main: html`<h1>Payout to ${displayName}</h1>
      ${done ? html`<p class="done" role="status">The payout is recorded.</p>` : ""}
      ${hasForm ? "" : problemLine(typed.problem)}
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
export function paymentPage(
  home: string,
  payment: PaymentView,
  { done, refused }: { readonly done?: "reversal" | "move" | undefined; readonly refused?: RefusedChange },
): PageContent {
  const { lenderCode, sourceLoanNumber: loan, reference, currency, amount, left } = payment;
  const isLeft = Number(left) > 0;
  return {
    title: "Payment",
    section: "Money",
    main: html`<h1>Payment ${reference}</h1>
      <p class="about">Times in ${payment.timeZone}.</p>
      ${done ? html`<p class="done" role="status">The payment is ${done === "move" ? "moved" : "reversed"}.</p>` : ""}
      ${isLeft ? "" : problemLine(refused?.problem)}
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
            { label: "Returned", isShort: true, cell: ({ reversedAt }) => reversedAt },
            { label: "Amount", isNumber: true, cell: (one) => amountsText([{ amount: one.amount, currency }]) },
          ],
        })}
      </section>
      ${isLeft ? html`${reversalForm(home, payment, refused)} ${moveForm(home, payment, refused)}` : ""}`,
  };
}

function reversalForm(home: string, payment: PaymentView, refused: RefusedChange | undefined): Html {
  const { lenderCode, sourceLoanNumber: loan, reference, currency, timeZone, reasons } = payment;
  const { problem, reversalReference, reversedAt = "", amount, because, note } = typedIn(refused, "reversal");
  // A form that has shown the effects has a time with a zone, which a field of local time cannot show.
  const type = reversedAt.endsWith("Z") ? "text" : "datetime-local";
  const fields = html`${textInput("reversalReference", "The lender's id of the reversal", { value: reversalReference })}
    ${textInput("reversedAt", `When the money was returned, in ${timeZone}`, { type, value: reversedAt })}
    ${textInput("amount", `Amount in ${currency}, empty for all that is left`, { value: amount })}
    <label for="because">Reason, which the lender sees</label>
    <select id="because" name="because" required>
      <option value="">Choose a reason</option>
      ${reasons.map(
        (reason) =>
          html`<option value="${reason}" ${reason === because ? html`selected` : html``}>${words(reason)}</option>`,
      )}
    </select>
    ${textInput("reversalNote", "Note without personal data (optional)", { name: "note", value: note })}`;
  return html`<section class="panel">
    <h2>Reverse the payment</h2>
    ${changeForm(home, { kind: "reversal", lenderCode, loan, reference }, { fields, problem })}
  </section>`;
}

function moveForm(home: string, payment: PaymentView, refused: RefusedChange | undefined): Html {
  const { lenderCode, sourceLoanNumber: loan, reference } = payment;
  const { problem, toLoan, note } = typedIn(refused, "move");
  const fields = html`${textInput("toLoan", "Loan to which the payment belongs", { value: toLoan })}
  ${textInput("moveNote", "Reason, for the audit", { name: "note", value: note })}`;
  return html`<section class="panel">
    <h2>Move the payment to another loan</h2>
    ${changeForm(home, { kind: "move", lenderCode, loan, reference }, { fields, problem })}
  </section>`;
}

/** The title of each kind of change. */
export const CHANGE_TITLES: Readonly<Record<MoneyOrder["kind"], string>> = {
  payout: "Record the payout",
  reversal: "Reverse the payment",
  move: "Move the payment",
};

/** The page that shows the effects of a change and asks. */
export function changePage(
  home: string,
  { order, facts }: Extract<MoneyRehearsal, { kind: "possible" }>,
  hidden: Html,
): PageContent {
  const title = CHANGE_TITLES[order.kind];
  return {
    title,
    section: "Money",
    main: html`<section class="message">
      <h1>${title}</h1>
      ${order.kind === "payout" ? "" : html`<p>Payment ${order.reference} on loan ${order.loan} of ${order.lenderCode}.</p>`}
      ${factList(facts)}
      <p>${order.kind === "payout" ? "A payout cannot be undone here." : "The lender gets events about the change."}</p>
      <form method="post" action="${home}${CHANGES}" class="act">
        ${hidden}
        ${fieldsOfOrder(order).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
        <p class="buttons"><button type="submit">${title}</button> <a href="${home}${backPath(order)}">Cancel</a></p>
      </form>
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
