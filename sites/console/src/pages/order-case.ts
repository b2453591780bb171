import type { CaseOrderKind } from "../acts.ts";
import { actForm, type Typed } from "../act-form.ts";
import type { LoanView } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { casePath } from "../paths.ts";

interface OrderWords {
  readonly title: string;
  readonly effect: string;
  readonly button: string;
  readonly done: string;
  readonly needsReason: boolean;
}

const WORDS: Readonly<Record<CaseOrderKind, OrderWords>> = {
  unassign: {
    title: "Unassign the case",
    effect: "The field partner loses the case. The borrower is not visited until the case is assigned again.",
    button: "Unassign the case",
    done: "The case is unassigned.",
    needsReason: false,
  },
  hold: {
    title: "Hold the case",
    effect: "All contact with the borrower stops until the case is released. The lender gets the event case.held.",
    button: "Hold the case",
    done: "The case is on hold.",
    needsReason: true,
  },
  release: {
    title: "Release the case",
    effect: "The hold ends. The field partner of the case may contact the borrower again.",
    button: "Release the case",
    done: "The case is released.",
    needsReason: false,
  },
  close: {
    title: "Close the case",
    effect: "The case ends without full payment. This cannot be undone; a later import may open a new cycle.",
    button: "Close the case",
    done: "The case is closed.",
    needsReason: true,
  },
};

/** Whether an order needs a reason, which the lender sees. */
export function needsReason(order: CaseOrderKind): boolean {
  return WORDS[order].needsReason;
}

/** Returns the label of an order's link, such as "Hold the case". */
export function orderLabel(order: CaseOrderKind): string {
  return WORDS[order].button;
}

/** Returns the sentence that the page of the case shows after an order. */
export function orderDoneText(order: CaseOrderKind): string {
  return WORDS[order].done;
}

/** The form of an order for a case. */
export function orderPage(
  home: string,
  view: LoanView,
  { order, hidden, ...typed }: Typed & { readonly order: CaseOrderKind; readonly hidden: Html },
): PageContent {
  const { lenderCode, sourceLoanNumber } = view;
  const words = WORDS[order];
  const back = casePath(lenderCode, sourceLoanNumber);
  return {
    title: words.title,
    section: "Cases",
    main: html`<section class="message">
      <h1>${words.title}</h1>
      <p>Loan ${sourceLoanNumber} of ${lenderCode}${view.erasedAt === null ? html`, ${view.borrowerName}` : ""}.</p>
      <p>${words.effect}</p>
      ${actForm({
        ...typed,
        home,
        path: `${back}/${order}`,
        hidden,
        needsReason: words.needsReason,
        reasonNote: words.needsReason ? "The lender sees the reason." : "The audit keeps the reason.",
        button: words.button,
        back,
      })}
    </section>`,
  };
}
