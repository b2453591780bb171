import { reasonIn } from "../act-form.ts";
import { answerForm } from "./answer-form.ts";
import { deliverySearchOf, deliveriesPage } from "../pages/deliveries.ts";
import { deliveryPage, noDeliveryPage } from "../pages/delivery.ts";
import { deliveryPath } from "../paths.ts";
import { type ConsoleRoute, EVERYBODY, OPERATORS } from "../route.ts";

/** The deliveries of events, and the form that sends one again. */
export const DELIVERY_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/deliveries",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, query }) {
      const search = deliverySearchOf(query);
      return { page: deliveriesPage(home, search, await desk.deliveries(search)) };
    },
  },
  {
    method: "get",
    path: "/deliveries/:event",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, operator, params, query }) {
      const found = await desk.delivery(params["event"]!);
      if (!found) return { page: noDeliveryPage(), status: 404 };
      const mayReplay = operator.lenderCode !== null || operator.roles.includes("operator");
      const hidden = mayReplay ? hiddenFields() : undefined;
      return { page: deliveryPage(home, found, { hidden, isDone: query.get("done") !== null }) };
    },
  },
  {
    method: "post",
    path: "/deliveries/:event/replay",
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const found = await desk.delivery(params["event"]!);
      if (!found) return { page: noDeliveryPage(), status: 404 };
      const { eventId } = found;
      const { reason, problem } = reasonIn(form, true);
      return answerForm(visit, {
        problem,
        perform: () => acts.replayDelivery({ eventId, reason }),
        again: (because) => deliveryPage(home, found, { hidden: hiddenFields(), reason, problem: because }),
        doneAt: `${home}${deliveryPath(eventId)}?done=replay`,
      });
    },
  },
];
