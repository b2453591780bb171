/** The answer of an endpoint. Without `body` it has no body. */
export interface Answer {
  status: number;
  body?: object;
  headers?: Record<string, string>;
}
