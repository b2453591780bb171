/** What an endpoint answers; `body` undefined answers without one. */
export interface Answer {
  status: number;
  body?: object;
  headers?: Record<string, string>;
}
