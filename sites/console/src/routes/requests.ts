import { requestsPage, requestsSearchOf } from "../pages/requests.ts";
import { type ConsoleRoute, EVERYBODY } from "../route.ts";

/** The recent requests of a lender to the REST API, and the way to the signature debugger. */
export const REQUEST_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/requests",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, query }) {
      const search = requestsSearchOf(query);
      return { page: requestsPage(home, search, await desk.requests(search)) };
    },
  },
  {
    method: "get",
    path: "/requests/debugger",
    roles: EVERYBODY,
    isForLenders: true,
    // The debugger needs scripts, which the pages of the console do not run. The documentation serves it beside the console.
    async answer({ home }) {
      return { redirectTo: `${home.slice(0, -"/console".length)}/docs/signature` };
    },
  },
];
