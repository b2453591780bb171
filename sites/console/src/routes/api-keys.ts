import { reasonIn } from "../act-form.ts";
import { createdKeyPage, keyNeedsReason, keyOrderPage, newKeyPage, noKeyPage } from "../pages/connection/api-key.ts";
import { noLenderPage } from "../pages/lenders.ts";
import { connectionPath } from "../paths.ts";
import { KEY_ORDERS } from "../reads/connection.ts";
import { type ConsoleRoute, OPERATORS } from "../route.ts";
import { answerForm } from "./answer-form.ts";

const KEYS = "/connection/:lender/keys";

function nameIn(params: Readonly<Record<string, string>>) {
  return { lenderCode: params["lender"]!, keyId: params["key"]! };
}

/** The forms that create an API key, sign with one, retire it and revoke it. */
export const KEY_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: KEYS,
    roles: OPERATORS,
    isForLenders: true,
    async answer({ desk, home, hiddenFields, params }) {
      const found = await desk.settings(params["lender"]!);
      if (!found) return { page: noLenderPage(), status: 404 };
      return { page: newKeyPage(home, found.lenderCode, { hidden: hiddenFields() }) };
    },
  },
  {
    method: "post",
    path: KEYS,
    roles: OPERATORS,
    isForLenders: true,
    async answer(visit) {
      const { acts, desk, home, hiddenFields, params } = visit;
      const found = await desk.settings(params["lender"]!);
      if (!found) return { page: noLenderPage(), status: 404 };
      const { lenderCode } = found;
      return answerForm(visit, {
        problem: undefined,
        async perform() {
          const outcome = await acts.createKey({ lenderCode });
          if (outcome.kind !== "created") return outcome;
          return { kind: "shows", page: createdKeyPage(home, lenderCode, outcome) };
        },
        again: (problem) => newKeyPage(home, lenderCode, { hidden: hiddenFields(), problem }),
        doneAt: home + connectionPath(lenderCode),
      });
    },
  },
  ...KEY_ORDERS.flatMap((order): ConsoleRoute[] => [
    {
      method: "get",
      path: `${KEYS}/:key/${order}`,
      roles: OPERATORS,
      isForLenders: true,
      async answer({ desk, home, hiddenFields, params }) {
        const found = await desk.key(nameIn(params));
        if (!found) return { page: noKeyPage(), status: 404 };
        return { page: keyOrderPage(home, found, { order, hidden: hiddenFields() }) };
      },
    },
    {
      method: "post",
      path: `${KEYS}/:key/${order}`,
      roles: OPERATORS,
      isForLenders: true,
      async answer(visit) {
        const { acts, desk, form, home, hiddenFields, params } = visit;
        const found = await desk.key(nameIn(params));
        if (!found) return { page: noKeyPage(), status: 404 };
        const { lenderCode, keyId } = found;
        const at = (form.get("at") ?? "").trim();
        const { reason, problem } = reasonIn(form, keyNeedsReason(order));
        const key = { lenderCode, keyId, reason };
        return answerForm(visit, {
          problem,
          perform: () => acts.orderKey(order === "retire" ? { ...key, order, at } : { ...key, order }),
          async again(because) {
            const present = (await desk.key(found)) ?? found;
            return keyOrderPage(home, present, { order, hidden: hiddenFields(), at, reason, problem: because });
          },
          doneAt: home + connectionPath(lenderCode, order),
        });
      },
    },
  ]),
];
