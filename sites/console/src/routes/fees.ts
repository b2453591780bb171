import { feesPage, feesSearchOf, noFeesPage } from "../pages/fees.ts";
import { type ConsoleRoute, EVERYBODY } from "../route.ts";

/** The monthly fee statement of a lender, as a page and as a file. */
export const FEE_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/fees",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, home, query }) {
      return { page: feesPage(home, await desk.fees(feesSearchOf(query))) };
    },
  },
  {
    method: "get",
    path: "/fees.csv",
    roles: EVERYBODY,
    isForLenders: true,
    async answer({ desk, query }) {
      const { lender, month } = feesSearchOf(query);
      const file = await desk.feesFile({ lender, month });
      return file ? { longDownload: file } : { page: noFeesPage(), status: 404 };
    },
  },
];
