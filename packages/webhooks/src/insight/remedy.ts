/** For the lender's engineer: what happened, and what to do about it, each in one or two plain sentences. */
export interface Remedy {
  readonly cause: string;
  readonly remedy: string;
}
