import { reasonIn } from "../act-form.ts";
import { answerForm } from "./answer-form.ts";
import { assignPage } from "../pages/assign-case.ts";
import { noCasePage } from "../pages/case.ts";
import { casePath } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";

const PATH = "/cases/:lender/:loan/assign";

/** The form that assigns a case. A person is searched first, then the operator confirms. */
export const ASSIGN_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: PATH,
    roles: OPERATORS,
    async answer({ desk, home, hiddenFields, params, query }) {
      const found = await desk.loanOfForm(params["lender"]!, params["loan"]!);
      if (!found) return { page: noCasePage(), status: 404 };
      const text = query.get("person")?.trim() ?? "";
      const people = text === "" ? undefined : await desk.people(text);
      return { page: assignPage(home, found, { text, people, hidden: hiddenFields() }) };
    },
  },
  {
    method: "post",
    path: PATH,
    roles: OPERATORS,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const found = await desk.loanOfForm(params["lender"]!, params["loan"]!);
      if (!found) return { page: noCasePage(), status: 404 };
      const { lenderCode, sourceLoanNumber: loan } = found;
      const fieldPartnerId = form.get("person") ?? "";
      const { reason, problem } = reasonIn(form, false);
      return answerForm(visit, {
        problem: fieldPartnerId === "" ? "Choose a field partner." : problem,
        perform: () => acts.assignCase({ lenderCode, loan, fieldPartnerId, reason }),
        again: async (because) => {
          const people = await desk.people(fieldPartnerId);
          const typed = { text: fieldPartnerId, people, reason, problem: because };
          return assignPage(home, found, { ...typed, hidden: hiddenFields() });
        },
        doneAt: `${home}${casePath(lenderCode, loan)}?done=assign`,
      });
    },
  },
];
