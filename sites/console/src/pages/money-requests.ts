import { type Html, html } from "../html.ts";
import { factList, listTable } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { reconciliationPath } from "../paths.ts";
import type { BookingOrder, MoneyOrder, MoneyRequest, MoneyRequestView } from "../reads/money-changes.ts";
import { amountsText, words } from "../words.ts";
import { backPath, CHANGE_TITLES } from "./money-changes.ts";

const REQUESTS = "/money/requests";

/** The changes that wait for a second operator. */
export function requestsPage(home: string, requests: readonly MoneyRequest[]): PageContent {
  return {
    title: "Requests",
    section: "Money",
    main: html`<h1>Requests for a second person</h1>
      ${listTable({
        label: "Requests",
        items: requests,
        none: "No change waits for a second person.",
        columns: [
          {
            label: "Change",
            cell: ({ requestId, order }) =>
              html`<a href="${home}${requestPath(requestId)}"
                >${titleOf(order)}: ${order.kind === "booking" ? order.fileName : order.reference}</a
              >`,
          },
          { label: "About", cell: ({ order }) => subjectOf(order)[0]![1] },
          { label: "Asked for by", cell: ({ requestedBy }) => requestedBy },
          { label: "Asked for at", isShort: true, cell: ({ requestedAt }) => requestedAt },
          { label: "Expires at", isShort: true, cell: ({ expiresAt }) => expiresAt },
        ],
      })}`,
  };
}

/** One change: its effects, and the forms of the operators who decide while it waits. */
export function requestPage(
  home: string,
  request: MoneyRequestView,
  { hiddenFields, problem }: { readonly hiddenFields: () => Html; readonly problem?: string },
): PageContent {
  const { order, requestedBy, requestedAt, expiresAt, decidedBy, state, isOwn, rehearsal, requestId } = request;
  const title = titleOf(order);
  const form = (decision: "confirm" | "decline", label: string, kind: string) =>
    html`<form method="post" action="${home}${requestPath(requestId)}/${decision}" class="act">
      ${hiddenFields()}
      <p class="buttons"><button type="submit" class="${kind}">${label}</button></p>
    </form>`;
  return {
    title,
    section: "Money",
    main: html`<section class="message">
      <h1>${title}</h1>
      ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
      ${factList([
        ["State", words(state)],
        ...subjectOf(order),
        ["Asked for by", requestedBy],
        ["Asked for at", requestedAt],
        ...(decidedBy === null ? [["Expires at", expiresAt] as const] : [["Decided by", decidedBy] as const]),
      ])}
      ${rehearsal?.kind === "possible" ? factList(rehearsal.facts) : ""}
      ${rehearsal?.kind === "refused" && problem === undefined ? html`<p class="problem">${rehearsal.detail}</p>` : ""}
      ${
        state === "waiting"
          ? html`${
              isOwn
                ? html`<p>The amount is above the limit: another operator with the role money confirms the change.</p>`
                : form("confirm", `Confirm: ${title.toLowerCase()}`, "strong")
            }
            ${form("decline", isOwn ? "Withdraw the request" : "Decline", "plain")}`
          : ""
      }
      <p>
        ${subjectLink(home, order)}
        <a href="${home}${REQUESTS}">All requests</a>
      </p>
    </section>`,
  };
}

/** Returns the path of a request. */
export function requestPath(requestId: string): string {
  return `${REQUESTS}/${encodeURIComponent(requestId)}`;
}

function titleOf({ kind }: MoneyOrder | BookingOrder): string {
  return kind === "booking" ? "Book the missing payments" : CHANGE_TITLES[kind];
}

function subjectLink(home: string, order: MoneyOrder | BookingOrder): Html {
  if (order.kind === "booking")
    return html`<a href="${home}${reconciliationPath(order.lenderCode, order.runId)}">The reconciliation</a>`;
  return html`<a href="${home}${backPath(order)}">${order.kind === "payout" ? "The payout" : "The payment"}</a>`;
}

function subjectOf(order: MoneyOrder | BookingOrder): readonly (readonly [string, string])[] {
  switch (order.kind) {
    case "booking":
      return [
        ["File", `${order.fileName} of ${order.lenderCode}`],
        ["Reason", order.note],
      ];
    case "payout":
      return [["Amount of the payout", amountsText([order])]];
    case "reversal":
      return [
        ["Payment", `${order.reference} on ${order.loan} of ${order.lenderCode}`],
        ["Reversal", `${order.reversalReference}, ${words(order.because)}`],
        ...(order.note === "" ? [] : [["Note", order.note] as const]),
      ];
    case "move":
      return [
        ["Payment", `${order.reference} on ${order.loan} of ${order.lenderCode}`],
        ["To loan", order.toLoan],
        ["Reason", order.note],
      ];
  }
}
