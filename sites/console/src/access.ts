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
  readonly signIn: (token: string) => Promise<{ readonly token: string; readonly expiresAt: Date } | undefined>;
  /** Returns the operator of an open session, or undefined. */
  readonly operatorOfSession: (token: string) => Promise<ConsoleOperator | undefined>;
  /** Ends a session. */
  readonly signOut: (token: string) => Promise<void>;
  /** Records that a form was sent. Returns false if the same form was sent before. */
  readonly useForm: (formId: string) => Promise<boolean>;
}
