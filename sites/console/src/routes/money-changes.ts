import { answerForm } from "./answer-form.ts";
import { moneyOrderIn } from "../money-order.ts";
import { noPersonPage } from "../pages/field-partners.ts";
import { messagePage } from "../pages/message.ts";
import { bookedPage } from "../pages/missing-payments.ts";
import {
  backPath,
  changePage,
  paymentPage,
  paymentPath,
  payoutPage,
  type RefusedChange,
} from "../pages/money-changes.ts";
import type { PageContent } from "../page.ts";
import { requestPage, requestPath, requestsPage } from "../pages/money-requests.ts";
import { withQuery } from "../paths.ts";
import { type ConsoleRoute, MONEY, type SignedInVisit } from "../route.ts";

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
      return { page: payoutPage(home, found, { done: query.get("done") !== null }) };
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
      return { page: paymentPage(home, found, { done: done === "move" || done === "reversal" ? done : undefined }) };
    },
  },
  {
    method: "get",
    path: CHANGES,
    roles: MONEY,
    async answer(visit) {
      const { desk, home, hiddenFields, query } = visit;
      const order = moneyOrderIn(query);
      if (!order) return { page: noOrderPage(), status: 422 };
      const rehearsal = await desk.rehearsal(order);
      if (rehearsal.kind === "not_found") return { page: noPaymentPage(), status: 404 };
      if (rehearsal.kind === "possible") return { page: changePage(home, rehearsal, hiddenFields()) };
      return { page: await refusedChangePage(visit, { order, problem: rehearsal.detail }), status: 422 };
    },
  },
  {
    method: "post",
    path: CHANGES,
    roles: MONEY,
    async answer(visit) {
      const { acts, form, home } = visit;
      const order = moneyOrderIn(form);
      if (!order) return { page: noOrderPage(), status: 422 };
      const back = backPath(order);
      return answerForm(visit, {
        problem: undefined,
        async perform() {
          const outcome = await acts.changeMoney(order);
          if (outcome.kind !== "waiting") return outcome;
          return { kind: "continues", at: home + requestPath(outcome.requestId) };
        },
        again: (problem) => refusedChangePage(visit, { order, problem }),
        doneAt: withQuery(home + back, { done: order.kind }),
      });
    },
  },
  {
    method: "get",
    path: "/money/requests",
    roles: MONEY,
    async answer({ desk, home }) {
      return { page: requestsPage(home, await desk.moneyRequests()) };
    },
  },
  {
    method: "get",
    path: "/money/requests/:request",
    roles: MONEY,
    async answer({ desk, home, hiddenFields, params }) {
      const found = await desk.moneyRequest(params["request"]!);
      return found ? { page: requestPage(home, found, { hiddenFields }) } : { page: noRequestPage(), status: 404 };
    },
  },
  ...(["confirm", "decline"] as const).map((decision): ConsoleRoute => ({
    method: "post",
    path: `/money/requests/:request/${decision}`,
    roles: MONEY,
    async answer(visit) {
      const { acts, desk, home, hiddenFields, params } = visit;
      const found = await desk.moneyRequest(params["request"]!);
      if (!found) return { page: noRequestPage(), status: 404 };
      const { requestId } = found;
      return answerForm(visit, {
        problem: undefined,
        async perform() {
          if (decision === "decline") return acts.declineRequest(requestId);
          const outcome = await acts.confirmRequest(requestId);
          return outcome.kind === "booked" ? { kind: "shows", page: bookedPage(home, outcome) } : outcome;
        },
        async again(problem) {
          const present = (await desk.moneyRequest(requestId)) ?? found;
          return requestPage(home, present, { hiddenFields, problem });
        },
        doneAt: home + requestPath(requestId),
      });
    },
  })),
];

/** Returns the page on which a change begins, with the typed values and the reason why the change was refused. */
async function refusedChangePage(
  { desk, home }: Pick<SignedInVisit, "desk" | "home">,
  refused: RefusedChange,
): Promise<PageContent> {
  const { order, problem } = refused;
  if (order.kind === "payout") {
    const person = await desk.payable(order.fieldPartnerId);
    return person ? payoutPage(home, person, { refused }) : messagePage("Payout refused", problem);
  }
  const payment = await desk.payment(order);
  return payment ? paymentPage(home, payment, { refused }) : messagePage("Change refused", problem);
}

function noRequestPage() {
  return messagePage("Request not found", "There is no such request. Requests are deleted a week after their end.");
}

function noPaymentPage() {
  return messagePage("Payment not found", "The lender has no such payment. Check the loan and the reference.");
}

function noOrderPage() {
  return messagePage("Not understood", "The form is not complete. Open its page again, and send it from there.");
}
