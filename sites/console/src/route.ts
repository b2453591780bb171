import type { ConsoleAccess, ConsoleOperator, ConsoleRole, CookieToken } from "./access.ts";
import type { ConsoleActs, LenderActs } from "./acts.ts";
import type { ConsoleDesk, LenderDesk } from "./desk.ts";
import type { Html } from "./html.ts";
import type { PageContent } from "./page.ts";
import type { LongDownload } from "./reads/fees.ts";
import type { Download } from "./reads/uploads.ts";
import type { SentFile } from "./received-form.ts";

/** A request for a route. */
export interface Visit {
  readonly access: ConsoleAccess;
  /** The path of the console in a browser: `/console` after the prefix that a proxy removes. */
  readonly home: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  /** The token of the sign-in that this browser has begun at the provider, or empty. */
  readonly attempt: string;
  /** The file of a form whose route has `takesFile`. Undefined if none was chosen. */
  readonly file?: SentFile | undefined;
}

/** A request of an operator with an open session. */
export interface SignedInVisit extends Visit {
  readonly operator: ConsoleOperator;
  readonly sessionToken: string;
  /** Whether scenes can be played. */
  readonly isSandbox: boolean;
  readonly desk: ConsoleDesk;
  readonly acts: ConsoleActs;
  /** The hidden fields that each form of the answered page needs. */
  readonly hiddenFields: () => Html;
}

/** The answer to a request: a page, a CSV file to download, such a file that is sent while it is made, or a redirect to a page. */
export type RouteAnswer = (
  | { readonly page: PageContent; readonly status?: number }
  | { readonly download: Download }
  | { readonly longDownload: LongDownload }
  | { readonly redirectTo: string }
) & {
  /** The session that the browser gets, or the end of its session. */
  readonly session?: CookieToken | "end";
  /** The attempt to sign in by the provider that the browser gets, or its end. */
  readonly attempt?: CookieToken | "end";
};

interface AnyRoute {
  readonly method: "get" | "post";
  /** The path below /console, as Express reads it. */
  readonly path: string;
  /** Whether the form has a file. The body is read only if the sender may use the route. */
  readonly takesFile?: boolean;
}

/** A route that needs no session. */
interface PublicRoute extends AnyRoute {
  readonly roles: "none";
  readonly isForLenders?: undefined;
  readonly answer: (visit: Visit) => Promise<RouteAnswer>;
}

/** A route for operators who have at least one of `roles`. */
interface RouteForRoles extends AnyRoute {
  readonly roles: readonly ConsoleRole[];
  readonly isForLenders?: undefined;
  readonly answer: (visit: SignedInVisit) => Promise<RouteAnswer>;
}

/** The request of a person who sees only one lender, or of an operator. The types permit no read of other lenders. */
export type LenderVisit = Omit<SignedInVisit, "desk" | "acts"> & {
  readonly desk: LenderDesk;
  readonly acts: LenderActs;
};

/** A route for operators who have at least one of `roles`, and for each lender's staff. */
interface RouteForLenders extends AnyRoute {
  readonly roles: readonly ConsoleRole[];
  readonly isForLenders: true;
  readonly answer: (visit: LenderVisit) => Promise<RouteAnswer>;
}

/** A page or a form of the console. A lender's staff does not reach a route without `isForLenders`. */
export type ConsoleRoute = PublicRoute | RouteForRoles | RouteForLenders;

/** All roles. */
export const EVERYBODY: readonly ConsoleRole[] = ["viewer", "operator", "money"];
/** Whether a person has the forms of operators. A lender's staff has those that its routes permit. */
export function mayOperate({ lenderCode, roles }: ConsoleOperator): boolean {
  return lenderCode !== null || roles.includes("operator");
}

/** The roles that change cases, deliveries and field partners. */
export const OPERATORS: readonly ConsoleRole[] = ["operator"];
/** The role that pays out, reverses and moves payments. */
export const MONEY: readonly ConsoleRole[] = ["money"];
