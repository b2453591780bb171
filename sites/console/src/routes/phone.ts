import { reasonIn } from "../act-form.ts";
import { answerForm } from "./answer-form.ts";
import { noPersonPage } from "../pages/field-partners.ts";
import { phonePage } from "../pages/phone.ts";
import { personPath } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";

const PATH = "/field-partners/:person/phone";

/** The form that gives a field partner a new phone number. */
export const PHONE_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: PATH,
    roles: OPERATORS,
    async answer({ desk, home, hiddenFields, params, query }) {
      const found = await desk.person(params["person"]!);
      if (!found) return { page: noPersonPage(), status: 404 };
      return { page: phonePage(home, found, { hidden: hiddenFields(), isDone: query.get("done") !== null }) };
    },
  },
  {
    method: "post",
    path: PATH,
    roles: OPERATORS,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const found = await desk.person(params["person"]!);
      if (!found) return { page: noPersonPage(), status: 404 };
      const { fieldPartnerId } = found;
      const phone = (form.get("phone") ?? "").trim();
      const { reason, problem } = reasonIn(form, true);
      return answerForm(visit, {
        problem: phone === "" ? "Give the new phone number." : problem,
        perform: () => acts.changePhone({ fieldPartnerId, phone, reason }),
        again: (because) => phonePage(home, found, { hidden: hiddenFields(), phone, reason, problem: because }),
        doneAt: `${home}${personPath(fieldPartnerId, "phone")}?done=phone`,
      });
    },
  },
];
