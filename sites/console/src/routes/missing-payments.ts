import { reasonIn } from "../act-form.ts";
import { bookedPage, missingPaymentsPage, noComparisonPage } from "../pages/missing-payments.ts";
import { requestPath } from "../pages/money-requests.ts";
import { uploadPath } from "../paths.ts";
import { type ConsoleRoute, MONEY } from "../route.ts";
import { answerForm } from "./answer-form.ts";

const PATH = "/money/missing/:lender/:upload";

function nameIn(params: Readonly<Record<string, string>>) {
  return { lenderCode: params["lender"]!, uploadId: params["upload"]! };
}

/** The form that books the missing payments of a file. */
export const MISSING_PAYMENT_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: PATH,
    roles: MONEY,
    async answer({ desk, home, hiddenFields, params }) {
      const found = await desk.missingPayments(nameIn(params));
      if (!found) return { page: noComparisonPage(), status: 422 };
      return { page: missingPaymentsPage(home, found, { hidden: hiddenFields() }) };
    },
  },
  {
    method: "post",
    path: PATH,
    roles: MONEY,
    async answer(visit) {
      const { acts, desk, form, home, hiddenFields, params } = visit;
      const name = nameIn(params);
      const found = await desk.missingPayments(name);
      if (!found) return { page: noComparisonPage(), status: 422 };
      const majorUnits = (form.get("majorUnits") ?? "").trim();
      const { reason, problem } = reasonIn(form, true);
      return answerForm(visit, {
        problem,
        async perform() {
          const version = form.get("version") ?? "";
          const outcome = await acts.bookMissing({ ...name, version, majorUnits, note: reason });
          if (outcome.kind === "waiting") return { kind: "continues", at: home + requestPath(outcome.requestId) };
          return outcome.kind === "booked" ? { kind: "shows", page: bookedPage(home, outcome) } : outcome;
        },
        async again(because) {
          const present = (await desk.missingPayments(name)) ?? found;
          return missingPaymentsPage(home, present, { hidden: hiddenFields(), majorUnits, reason, problem: because });
        },
        doneAt: home + uploadPath(name),
      });
    },
  },
];
