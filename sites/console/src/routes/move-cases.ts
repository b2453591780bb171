import { reasonIn } from "../act-form.ts";
import { answerForm } from "./answer-form.ts";
import { movedPage, movePage } from "../pages/moves/move-cases.ts";
import { noPersonPage } from "../pages/field-partners.ts";
import { personPath } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";

const PATH = "/field-partners/:person/move";

/** The form that moves all open cases of a field partner: a search for the other person, a dry run, a question. */
export const MOVE_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: PATH,
    roles: OPERATORS,
    async answer({ desk, home, hiddenFields, params, query }) {
      const from = await desk.person(params["person"]!);
      if (!from) return { page: noPersonPage(), status: 404 };
      if (query.get("done") !== null) return { page: movedPage(home, from) };
      const text = query.get("person")?.trim() ?? "";
      const people = text === "" ? undefined : await desk.people(text);
      const [to] = people?.length === 1 ? people : [];
      const plan = to && (await desk.plannedMoves({ from: from.fieldPartnerId, to: to.fieldPartnerId }));
      return { page: movePage(home, from, { text, people, plan, hidden: hiddenFields() }) };
    },
  },
  {
    method: "post",
    path: PATH,
    roles: OPERATORS,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const from = await desk.person(params["person"]!);
      if (!from) return { page: noPersonPage(), status: 404 };
      const { reason, problem } = reasonIn(form, true);
      const move = { from: from.fieldPartnerId, to: form.get("person") ?? "" };
      return answerForm(visit, {
        problem,
        perform: () => acts.moveCases({ ...move, version: form.get("version") ?? "", reason }),
        again: async (because) => {
          const people = await desk.people(move.to);
          const plan = people?.length === 1 ? await desk.plannedMoves(move) : undefined;
          const typed = { text: move.to, people, plan, reason, problem: because };
          return movePage(home, from, { ...typed, hidden: hiddenFields() });
        },
        doneAt: `${home}${personPath(from.fieldPartnerId, "move")}?done=move`,
      });
    },
  },
];
