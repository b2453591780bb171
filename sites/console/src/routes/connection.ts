import { connectionPage } from "../pages/connection/connection.ts";
import { testedPage, mintTestPage } from "../pages/connection/test-call.ts";
import { noLenderPage } from "../pages/lenders.ts";
import { connectionForm, connectionPath } from "../paths.ts";
import { type ConsoleRoute, EVERYBODY, mayOperate, OPERATORS } from "../route.ts";
import { answerForm } from "./answer-form.ts";

const MINT_TEST = "/connection/:lender/mint-test";

/** The connection of a lender, and the forms that make test calls. */
export const CONNECTION_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/connection",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, operator, query }) {
      const found = await desk.connection(query.get("lender") ?? undefined);
      const hidden = mayOperate(operator) ? hiddenFields : undefined;
      return { page: connectionPage(home, found, { hidden, done: query.get("done") }) };
    },
  },
  {
    method: "post",
    path: "/connection/:lender/callback-test",
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, home, hiddenFields, params } = visit;
      const found = await desk.connection(params["lender"]);
      if (!found.connection) return { page: noLenderPage(), status: 404 };
      const { lenderCode } = found.connection;
      return answerForm(visit, {
        problem: undefined,
        async perform() {
          const outcome = await acts.testCallback({ lenderCode });
          if (outcome.kind !== "tested") return outcome;
          const again = connectionPath(lenderCode);
          const page = testedPage(home, lenderCode, { title: "Test of the callback", again, call: outcome.call });
          return { kind: "shows", page };
        },
        again: (problem) => connectionPage(home, found, { hidden: hiddenFields, problem }),
        doneAt: home + connectionPath(lenderCode),
      });
    },
  },
  {
    method: "get",
    path: MINT_TEST,
    roles: OPERATORS,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, params, query }) {
      const found = await desk.settings(params["lender"]!);
      if (!found) return { page: noLenderPage(), status: 404 };
      return { page: mintTestPage(home, found.lenderCode, { hidden: hiddenFields(), loan: query.get("loan") ?? "" }) };
    },
  },
  {
    method: "post",
    path: MINT_TEST,
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const found = await desk.settings(params["lender"]!);
      if (!found) return { page: noLenderPage(), status: 404 };
      const { lenderCode } = found;
      const loan = (form.get("loan") ?? "").trim();
      const amount = (form.get("amount") ?? "").trim();
      return answerForm(visit, {
        problem: loan === "" || isControlled(loan) ? "Give the loan whose borrower the call names." : undefined,
        async perform() {
          const outcome = await acts.testMint({ lenderCode, loan, amount });
          if (outcome.kind !== "tested") return outcome;
          const again = connectionForm(lenderCode, "mint-test");
          const page = testedPage(home, lenderCode, { title: "Test of the mint endpoint", again, call: outcome.call });
          return { kind: "shows", page };
        },
        again: (problem) => mintTestPage(home, lenderCode, { hidden: hiddenFields(), loan, amount, problem }),
        doneAt: home + connectionForm(lenderCode, "mint-test"),
      });
    },
  },
];

/** Whether a text has control characters, which no loan number has. */
function isControlled(text: string): boolean {
  return /[\p{Cc}\p{Cs}]/u.test(text);
}
