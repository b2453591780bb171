/** Tells the receiver's engineer why an attempt failed and what to do, each in one or two plain sentences. */
export interface Remedy {
  readonly cause: string;
  readonly remedy: string;
}
