import { auditPage, auditSearchOf } from "./pages/audit.ts";
import { casePage, noCasePage } from "./pages/case.ts";
import { messagePage } from "./pages/message.ts";
import { notUsablePage, signInPage } from "./pages/sign-in.ts";
import { searchPage } from "./pages/search.ts";
import { todayPage } from "./pages/today.ts";
import { type ConsoleRoute, EVERYBODY } from "./route.ts";
import { ASSIGN_ROUTES } from "./routes/assign-case.ts";
import { CASE_ORDER_ROUTES } from "./routes/case-orders.ts";
import { CONNECTION_ROUTES } from "./routes/connection.ts";
import { DELIVERY_ROUTES } from "./routes/deliveries.ts";
import { MOVE_ROUTES } from "./routes/move-cases.ts";
import { PHONE_ROUTES } from "./routes/phone.ts";

/** All pages and forms of the console, each with the roles that may use it. */
export const CONSOLE_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/sign-in/:token",
    roles: "none",
    async answer({ access, home, params }) {
      const token = params["token"]!;
      const operator = await access.operatorOfLink(token);
      return operator ? { page: signInPage({ home, token, operator }) } : { page: notUsablePage(home), status: 410 };
    },
  },
  {
    method: "post",
    path: "/sign-in",
    roles: "none",
    async answer({ access, home, form }) {
      const session = await access.signIn(form.get("link") ?? "");
      return session ? { redirectTo: home, session } : { page: notUsablePage(home), status: 410 };
    },
  },
  {
    method: "post",
    path: "/sign-out",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ access, home, sessionToken }) {
      await access.signOut(sessionToken);
      return { redirectTo: `${home}/signed-out`, session: "end" };
    },
  },
  {
    method: "get",
    path: "/signed-out",
    roles: "none",
    async answer() {
      return {
        page: messagePage("Signed out", "You are signed out. The sign-in link that you used cannot be used again."),
      };
    },
  },
  {
    method: "get",
    path: "",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, query }) {
      return { page: todayPage(home, await desk.figures(query.get("lender") ?? undefined)) };
    },
  },
  {
    method: "get",
    path: "/search",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, query }) {
      const text = query.get("text");
      return { page: searchPage(home, text === null ? undefined : { text, findings: await desk.find(text) }) };
    },
  },
  {
    method: "get",
    path: "/cases/:lender/:loan",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, operator, params, query }) {
      const found = await desk.caseOf(params["lender"]!, params["loan"]!);
      if (!found) return { page: noCasePage(), status: 404 };
      return { page: casePage(home, found, { operator, done: query.get("done") }) };
    },
  },
  {
    method: "get",
    path: "/audit",
    roles: EVERYBODY,
    async answer({ desk, home, query }) {
      const search = auditSearchOf(query);
      return { page: auditPage(home, search, await desk.audit(search)) };
    },
  },
  ...ASSIGN_ROUTES,
  ...CASE_ORDER_ROUTES,
  ...CONNECTION_ROUTES,
  ...DELIVERY_ROUTES,
  ...PHONE_ROUTES,
  ...MOVE_ROUTES,
];
