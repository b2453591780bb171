/** The answer of an endpoint. If `body` is absent, the answer has no body. */
export interface Answer {
  status: number;
  body?: object;
  /** The body as JSON, if it is known already. An answer that several requests share is written only once. */
  readonly text?: string;
  headers?: Record<string, string>;
}
