import { noSandboxPage, playedPage, sandboxPage } from "../pages/sandbox.ts";
import { withQuery } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";
import { answerForm } from "./answer-form.ts";

const PATH = "/sandbox";

/** The form that plays a scene on a loan, in a sandbox. */
export const SANDBOX_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: PATH,
    roles: OPERATORS,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, isSandbox, query }) {
      if (!isSandbox) return { page: noSandboxPage(), status: 404 };
      const found = await desk.scenes(query.get("lender") ?? undefined);
      return { page: sandboxPage(home, found, { hidden: hiddenFields(), loan: query.get("loan") ?? "" }) };
    },
  },
  {
    method: "post",
    path: PATH,
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, isSandbox } = visit;
      if (!isSandbox) return { page: noSandboxPage(), status: 404 };
      const [lenderCode, loan, scene] = ["lender", "loan", "scene"].map((name) => (form.get(name) ?? "").trim());
      const play = { lenderCode: lenderCode!, loan: loan!, scene: scene! };
      return answerForm(visit, {
        problem:
          loan === "" || /[\p{Cc}\p{Cs}]/u.test(loan!) ? "Give the loan on which the scene is played." : undefined,
        async perform() {
          const outcome = await acts.playScene(play);
          return outcome.kind === "played" ? { kind: "shows", page: playedPage(home, play, outcome) } : outcome;
        },
        again: async (problem) =>
          sandboxPage(home, await desk.scenes(play.lenderCode), { hidden: hiddenFields(), ...play, problem }),
        doneAt: home + withQuery(PATH, { lender: play.lenderCode, loan: play.loan }),
      });
    },
  },
];
