import { answerForm } from "./answer-form.ts";
import { moneyOrderIn } from "../money-order.ts";
import { noPersonPage } from "../pages/field-partners.ts";
import { messagePage } from "../pages/message.ts";
import { backPath, changePage, paymentPage, paymentPath, payoutPage } from "../pages/money-changes.ts";
import { type ConsoleRoute, MONEY } from "../route.ts";

const CHANGES = "/money/changes";

/** The pages and forms of operators who pay out, reverse and move payments. */
export const MONEY_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/money/payouts/:person",
    roles: MONEY,
    async answer({ desk, home, params, query }) {
      const found = await desk.payable(params["person"]!);
      if (!found) return { page: noPersonPage(), status: 404 };
      return { page: payoutPage(home, found, query.get("done") !== null) };
    },
  },
  {
    method: "get",
    path: "/money/payments",
    roles: MONEY,
    async answer({ home, query }) {
      const field = (name: string) => query.get(name)?.trim() ?? "";
      const name = { lenderCode: field("lenderCode"), loan: field("loan"), reference: field("reference") };
      return { redirectTo: home + (Object.values(name).includes("") ? "/money" : paymentPath(name)) };
    },
  },
  {
    method: "get",
    path: "/money/payments/:lender/:loan/:reference",
    roles: MONEY,
    async answer({ desk, home, params, query }) {
      const { lender, loan, reference } = params;
      const found = await desk.payment({ lenderCode: lender!, loan: loan!, reference: reference! });
      if (!found) return { page: noPaymentPage(), status: 404 };
      const done = query.get("done");
      return { page: paymentPage(home, found, done === "move" || done === "reversal" ? done : undefined) };
    },
  },
  {
    method: "get",
    path: CHANGES,
    roles: MONEY,
    async answer({ desk, home, hiddenFields, query }) {
      const order = moneyOrderIn(query);
      if (!order) return { page: noOrderPage(), status: 422 };
      const rehearsal = await desk.rehearsal(order);
      if (rehearsal.kind === "not_found") return { page: noPaymentPage(), status: 404 };
      const page = changePage(home, order, { rehearsal, hidden: hiddenFields() });
      return { page, status: rehearsal.kind === "refused" ? 422 : 200 };
    },
  },
  {
    method: "post",
    path: CHANGES,
    roles: MONEY,
    async answer(visit) {
      const { acts, form, home, hiddenFields } = visit;
      const order = moneyOrderIn(form);
      if (!order) return { page: noOrderPage(), status: 422 };
      const back = backPath(order);
      return answerForm(visit, {
        problem: undefined,
        perform: () => acts.changeMoney(order),
        again: (detail) => changePage(home, order, { rehearsal: { kind: "refused", detail }, hidden: hiddenFields() }),
        doneAt: `${home}${back}?done=${order.kind}`,
      });
    },
  },
];

function noPaymentPage() {
  return messagePage("Payment not found", "The lender has no such payment. Check the loan and the reference.");
}

function noOrderPage() {
  return messagePage("Not understood", "The form is not complete. Open its page again, and send it from there.");
}
