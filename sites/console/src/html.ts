import { html } from "hono/html";

/** Text of a page in which every value is escaped. */
export type Html = ReturnType<typeof html>;

export { html };
