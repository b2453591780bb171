import { connectionPage } from "../pages/connection.ts";
import { type ConsoleRoute, EVERYBODY } from "../route.ts";

/** The callback and the API keys of a lender. */
export const CONNECTION_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/connection",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, query }) {
      return { page: connectionPage(home, await desk.connection(query.get("lender") ?? undefined)) };
    },
  },
];
