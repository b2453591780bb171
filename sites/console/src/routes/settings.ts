import { reasonIn } from "../act-form.ts";
import { settingsAgain, settingsIn, settingsPage } from "../pages/connection/settings.ts";
import { noLenderPage } from "../pages/lenders.ts";
import { connectionPath } from "../paths.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";
import { answerForm } from "./answer-form.ts";

const PATH = "/connection/:lender/settings";

/** The form that changes the settings of a lender. */
export const SETTINGS_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: PATH,
    roles: OPERATORS,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, params }) {
      const found = await desk.settings(params["lender"]!);
      if (!found) return { page: noLenderPage(), status: 404 };
      return { page: settingsPage(home, found, { hidden: hiddenFields() }) };
    },
  },
  {
    method: "post",
    path: PATH,
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const found = await desk.settings(params["lender"]!);
      if (!found) return { page: noLenderPage(), status: 404 };
      const { lenderCode } = found;
      const sent = settingsIn(form);
      const { reason, problem } = reasonIn(form, false);
      return answerForm(visit, {
        problem,
        perform: () => acts.changeSettings({ lenderCode, ...sent, reason }),
        async again(because) {
          const present = (await desk.settings(lenderCode)) ?? found;
          const settings = settingsAgain(sent, present.settings);
          return settingsPage(home, present, { hidden: hiddenFields(), settings, reason, problem: because });
        },
        doneAt: home + connectionPath(lenderCode, "settings"),
      });
    },
  },
];
