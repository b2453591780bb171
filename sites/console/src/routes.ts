import { auditPage, auditSearchOf } from "./pages/audit.ts";
import { casePage, noCasePage } from "./pages/case.ts";
import { casesPage, casesSearchOf } from "./pages/cases.ts";
import { noPersonPage, peoplePage, peopleSearchOf, personPage } from "./pages/field-partners.ts";
import { lenderPage, lendersPage, noLenderPage } from "./pages/lenders.ts";
import { moneyPage, moneySearchOf } from "./pages/money.ts";
import { notUsablePage, signedOutPage, signInPage } from "./pages/sign-in.ts";
import { searchPage } from "./pages/search.ts";
import { systemPage } from "./pages/system.ts";
import { todayPage } from "./pages/today.ts";
import { type ConsoleRoute, EVERYBODY } from "./route.ts";
import { ASSIGN_ROUTES } from "./routes/assign-case.ts";
import { CASE_ORDER_ROUTES } from "./routes/case-orders.ts";
import { CONNECTION_ROUTES } from "./routes/connection.ts";
import { KEY_ROUTES } from "./routes/api-keys.ts";
import { SANDBOX_ROUTES } from "./routes/sandbox.ts";
import { SETTINGS_ROUTES } from "./routes/settings.ts";
import { DELIVERY_ROUTES } from "./routes/deliveries.ts";
import { FEE_ROUTES } from "./routes/fees.ts";
import { MISSING_PAYMENT_ROUTES } from "./routes/missing-payments.ts";
import { MONEY_ROUTES } from "./routes/money-changes.ts";
import { MOVE_ROUTES } from "./routes/move-cases.ts";
import { PAYMENT_ROUTES } from "./routes/payments.ts";
import { PERSON_ORDER_ROUTES } from "./routes/person-orders.ts";
import { PHONE_ROUTES } from "./routes/phone.ts";
import { PROVIDER_ROUTES } from "./routes/provider.ts";
import { SPREAD_ROUTES } from "./routes/spread-cases.ts";
import { REQUEST_ROUTES } from "./routes/requests.ts";
import { UPLOAD_ROUTES } from "./routes/uploads.ts";

/** All pages and forms of the console, each with the roles that may use it. */
export const CONSOLE_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/sign-in/:token",
    roles: "none",
    async answer({ access, home, params }) {
      const token = params["token"]!;
      const operator = await access.operatorOfLink(token);
      return operator
        ? { page: signInPage({ home, token, operator }) }
        : { page: notUsablePage(home, access.provider), status: 410 };
    },
  },
  {
    method: "post",
    path: "/sign-in",
    roles: "none",
    async answer({ access, home, form }) {
      const session = await access.signIn(form.get("link") ?? "");
      return session ? { redirectTo: home, session } : { page: notUsablePage(home, access.provider), status: 410 };
    },
  },
  {
    method: "post",
    path: "/sign-out",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ access, home, operator, sessionToken }) {
      await access.signOut(sessionToken);
      const isByProvider = access.provider?.hasSignedIn(operator) ?? false;
      return { redirectTo: `${home}${isByProvider ? "/oidc/sign-out" : "/signed-out"}`, session: "end" };
    },
  },
  {
    method: "get",
    path: "/signed-out",
    roles: "none",
    async answer({ access, home }) {
      return { page: signedOutPage(home, access.provider) };
    },
  },
  ...PROVIDER_ROUTES,
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
    path: "/cases",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, operator, query }) {
      const search = casesSearchOf(query);
      return { page: casesPage(home, search, { page: await desk.cases(search), operator }) };
    },
  },
  {
    method: "get",
    path: "/field-partners",
    roles: EVERYBODY,
    async answer({ desk, home, query }) {
      const search = peopleSearchOf(query);
      return { page: peoplePage(home, search, await desk.fieldPartners(search)) };
    },
  },
  {
    method: "get",
    path: "/field-partners/:person",
    roles: EVERYBODY,
    async answer({ desk, home, operator, params }) {
      const found = await desk.fieldPartner(params["person"]!);
      return found ? { page: personPage(home, found, operator) } : { page: noPersonPage(), status: 404 };
    },
  },
  {
    method: "get",
    path: "/lenders",
    roles: EVERYBODY,
    async answer({ desk, home, query }) {
      return { page: lendersPage(home, await desk.lenders(query.get("after") ?? undefined)) };
    },
  },
  {
    method: "get",
    path: "/lenders/:lender",
    roles: EVERYBODY,
    async answer({ desk, home, params, query }) {
      const found = await desk.lender(params["lender"]!, query.get("before") ?? undefined);
      return found ? { page: lenderPage(home, found) } : { page: noLenderPage(), status: 404 };
    },
  },
  {
    method: "get",
    path: "/money",
    roles: EVERYBODY,
    async answer({ desk, home, operator, query }) {
      return { page: moneyPage(home, await desk.money(moneySearchOf(query)), operator) };
    },
  },
  {
    method: "get",
    path: "/cases/:lender/:loan",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, isSandbox, operator, params, query }) {
      const found = await desk.caseOf(params["lender"]!, params["loan"]!);
      if (!found) return { page: noCasePage(), status: 404 };
      return { page: casePage(home, found, { operator, isSandbox, done: query.get("done") }) };
    },
  },
  {
    method: "get",
    path: "/system",
    roles: EVERYBODY,
    async answer({ desk, home }) {
      return { page: systemPage(home, await desk.system()) };
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
  ...PAYMENT_ROUTES,
  ...FEE_ROUTES,
  ...ASSIGN_ROUTES,
  ...CASE_ORDER_ROUTES,
  ...CONNECTION_ROUTES,
  ...SETTINGS_ROUTES,
  ...KEY_ROUTES,
  ...SANDBOX_ROUTES,
  ...REQUEST_ROUTES,
  ...DELIVERY_ROUTES,
  ...PHONE_ROUTES,
  ...MOVE_ROUTES,
  ...PERSON_ORDER_ROUTES,
  ...SPREAD_ROUTES,
  ...UPLOAD_ROUTES,
  ...MONEY_ROUTES,
  ...MISSING_PAYMENT_ROUTES,
];
