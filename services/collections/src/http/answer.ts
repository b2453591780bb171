/** The answer of an endpoint. If `body` is absent, the answer has no body. */
export interface Answer {
  status: number;
  body?: object;
  headers?: Record<string, string>;
}
