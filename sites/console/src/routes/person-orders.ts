import { reasonIn } from "../act-form.ts";
import type { PersonOrderKind } from "../acts.ts";
import { noPersonPage } from "../pages/field-partners.ts";
import { personOrderPage } from "../pages/order-person.ts";
import { personPath, withQuery } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";
import { answerForm } from "./answer-form.ts";

const ORDERS: readonly PersonOrderKind[] = ["suspend", "resume"];

/** The forms that suspend a field partner, or let a suspended one sign in again. */
export const PERSON_ORDER_ROUTES: readonly ConsoleRoute[] = ORDERS.flatMap((order): ConsoleRoute[] => [
  {
    method: "get",
    path: `/field-partners/:person/${order}`,
    roles: OPERATORS,
    async answer({ desk, home, hiddenFields, params, query }) {
      const found = await desk.person(params["person"]!);
      if (!found) return { page: noPersonPage(), status: 404 };
      const isDone = query.get("done") !== null;
      return { page: personOrderPage(home, found, order, { hidden: hiddenFields(), isDone }) };
    },
  },
  {
    method: "post",
    path: `/field-partners/:person/${order}`,
    roles: OPERATORS,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const found = await desk.person(params["person"]!);
      if (!found) return { page: noPersonPage(), status: 404 };
      const { fieldPartnerId } = found;
      const { reason, problem } = reasonIn(form, true);
      return answerForm(visit, {
        problem,
        perform: () => acts.orderPerson({ fieldPartnerId, order, reason }),
        again: (because) => personOrderPage(home, found, order, { hidden: hiddenFields(), reason, problem: because }),
        doneAt: `${home}${withQuery(personPath(fieldPartnerId, order), { done: order })}`,
      });
    },
  },
]);
