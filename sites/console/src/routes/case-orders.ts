import { CASE_ORDERS, type CaseOrderKind } from "../acts.ts";
import { reasonIn } from "../act-form.ts";
import { answerForm } from "./answer-form.ts";
import { noCasePage } from "../pages/case.ts";
import { needsReason, orderPage } from "../pages/order-case.ts";
import { casePath, withQuery } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";

/** The forms that unassign, hold, release and close a case. */
export const CASE_ORDER_ROUTES: readonly ConsoleRoute[] = CASE_ORDERS.flatMap(routesOf);

function routesOf(order: CaseOrderKind): ConsoleRoute[] {
  const path = `/cases/:lender/:loan/${order}`;
  return [
    {
      method: "get",
      path,
      roles: OPERATORS,
      async answer({ desk, home, hiddenFields, params }) {
        const found = await desk.loanOfForm(params["lender"]!, params["loan"]!);
        if (!found) return { page: noCasePage(), status: 404 };
        return { page: orderPage(home, found, { order, hidden: hiddenFields() }) };
      },
    },
    {
      method: "post",
      path,
      roles: OPERATORS,
      async answer(visit) {
        const { acts, desk, form, home, hiddenFields, params } = visit;
        const found = await desk.loanOfForm(params["lender"]!, params["loan"]!);
        if (!found) return { page: noCasePage(), status: 404 };
        const { lenderCode, sourceLoanNumber: loan } = found;
        const { reason, problem } = reasonIn(form, needsReason(order));
        return answerForm(visit, {
          problem,
          perform: () => acts.orderCase({ lenderCode, loan, order, reason }),
          again: (because) => orderPage(home, found, { order, hidden: hiddenFields(), reason, problem: because }),
          doneAt: withQuery(home + casePath(lenderCode, loan), { done: order }),
        });
      },
    },
  ];
}
