/** The roles that a route can require. */
export const CONSOLE_ROLES = ["viewer", "operator", "money"] as const;
/** A role of an operator. */
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

/** The operator of a request. */
export interface ConsoleOperator {
  readonly name: string;
  readonly roles: readonly ConsoleRole[];
  /** The lender whose staff the person is. They see only this lender. Null for an operator. */
  readonly lenderCode: string | null;
}

/** How operators sign in and out. The service implements it with the verbs of its domain. */
export interface ConsoleAccess {
  /** Returns the operator whom a link would sign in, or undefined if the link cannot be used. Does not use the link up. */
  readonly operatorOfLink: (token: string) => Promise<ConsoleOperator | undefined>;
  /** Uses a link up. Returns the token of the new session, or undefined if the link cannot be used. */
  readonly signIn: (token: string) => Promise<CookieToken | undefined>;
  /** Returns the operator of an open session, or undefined. */
  readonly operatorOfSession: (token: string) => Promise<ConsoleOperator | undefined>;
  /** Ends a session. */
  readonly signOut: (token: string) => Promise<void>;
  /** Records that a form was sent. Returns false if the same form was sent before. */
  readonly useForm: (formId: string) => Promise<boolean>;
  /** The OpenID Connect provider by which operators sign in; undefined if there is none. */
  readonly provider: ProviderAccess | undefined;
}

/** A token that a cookie keeps until it expires. */
export interface CookieToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/** How operators sign in by an OpenID Connect provider. */
export interface ProviderAccess {
  /** The host of the provider, which the pages name. */
  readonly host: string;
  /**
   * Begins a sign-in. Returns the URL at the provider, and the token of the attempt, which only this browser may get. Returns
   * undefined if the provider cannot be used.
   */
  readonly start: () => Promise<{ readonly url: string; readonly attempt: CookieToken } | undefined>;
  /** Finishes a sign-in with the query of the provider's redirect. `attempt` is the token of the browser, or empty. */
  readonly finish: (answer: { readonly attempt: string; readonly query: URLSearchParams }) => Promise<ProviderOutcome>;
  /** Returns whether an operator has signed in by this provider, and not by a link. */
  readonly hasSignedIn: (operator: ConsoleOperator) => boolean;
  /**
   * Returns the URL at which a person signs out at the provider, which then sends the browser to `/oidc/signed-out`.
   * Returns undefined if the provider does not offer this or cannot be used.
   */
  readonly signOutUrl: () => Promise<string | undefined>;
}

/**
 * The reasons why the provider's redirect signs nobody in. `expired`: the browser has no such attempt, or used it up.
 * `not_signed_in`: the provider says that it did not sign the person in. `invalid`: a token or another value is wrong.
 * `unavailable`: the provider does not answer. `no_name` and `no_role`: a claim is missing.
 */
export type ProviderRefusal = "expired" | "not_signed_in" | "invalid" | "unavailable" | "no_name" | "no_role";

/** The outcome of a sign-in by a provider. */
export type ProviderOutcome =
  | { readonly kind: "signed_in"; readonly name: string; readonly session: CookieToken }
  | {
      readonly kind: "refused";
      readonly reason: ProviderRefusal;
      /** The name of the missing claim, or the error code of the provider. */
      readonly detail: string | undefined;
    };
