import { paymentsPage, paymentsSearchOf } from "../pages/payments.ts";
import {
  differencesSearchOf,
  noReconciliationPage,
  reconciliationPage,
  reconciliationsPage,
  reconciliationsSearchOf,
} from "../pages/reconciliations.ts";
import { type ConsoleRoute, EVERYBODY } from "../route.ts";

/** The pages of payments, reversals and reconciliations. */
export const PAYMENT_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/payments",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, operator, query }) {
      const search = paymentsSearchOf(query);
      return { page: paymentsPage(home, search, { page: await desk.payments(search), operator }) };
    },
  },
  {
    method: "get",
    path: "/reconciliations",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, query }) {
      return { page: reconciliationsPage(home, await desk.reconciliations(reconciliationsSearchOf(query))) };
    },
  },
  {
    method: "get",
    path: "/reconciliations/:lender/:run",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, params, query }) {
      const found = await desk.reconciliation(differencesSearchOf(params, query));
      return found ? { page: reconciliationPage(home, found) } : { page: noReconciliationPage(), status: 404 };
    },
  },
];
