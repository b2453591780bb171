import { reasonIn } from "../act-form.ts";
import { SPREAD_BY, spreadDonePage, spreadPage } from "../pages/moves/spread-cases.ts";
import { withQuery } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";
import { answerForm } from "./answer-form.ts";

const PATH = "/cases/spread";

/** The form that spreads the unassigned cases of a lender: the field partners, a dry run, a question. */
export const SPREAD_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: PATH,
    roles: OPERATORS,
    async answer({ desk, home, hiddenFields, query }) {
      if (query.get("done") !== null) return { page: spreadDonePage(home, query.get("lender") ?? "") };
      const lenderCodes = await desk.lenderCodes();
      const request = requestIn(query, /\n/, lenderCodes[0]);
      const plan = request.people.length === 0 ? undefined : await desk.plannedSpread(request);
      return { page: spreadPage(home, { lenderCodes, request, plan, hidden: hiddenFields() }) };
    },
  },
  {
    method: "post",
    path: PATH,
    roles: OPERATORS,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields } = visit;
      const { reason, problem } = reasonIn(form, false);
      const request = requestIn(form, / /, undefined);
      return answerForm(visit, {
        problem,
        perform: () => acts.spreadCases({ ...request, version: form.get("version") ?? "", reason }),
        again: async (because) => {
          const [lenderCodes, plan] = [await desk.lenderCodes(), await desk.plannedSpread(request)];
          return spreadPage(home, { lenderCodes, request, plan, reason, problem: because, hidden: hiddenFields() });
        },
        doneAt: `${home}${withQuery(PATH, { done: "spread", lender: request.lenderCode })}`,
      });
    },
  },
];

function requestIn(fields: URLSearchParams, separator: RegExp, firstLender: string | undefined) {
  const people = (fields.get("people") ?? "")
    .split(separator)
    .map((text) => text.trim())
    .filter((text) => text !== "");
  return { lenderCode: fields.get("lender") ?? firstLender ?? "", by: fields.get("by") ?? SPREAD_BY[0]![0], people };
}
