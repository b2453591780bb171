import type { Response } from "express";
import type { GraphiQLOptions } from "graphql-yoga";

/** All that the page needs is in it: nothing is fetched from elsewhere. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "script-src 'unsafe-inline' blob:",
  "worker-src blob:",
  "style-src 'unsafe-inline'",
  "font-src data:",
  "img-src data:",
].join(";");

const WELCOME = `# The API of the field partners' app. Issue a token and put it below, under Headers:
#   pnpm collections field-partner token fp_…
#   { "Authorization": "Bearer fpt_…" }
query Today {
  viewer { displayName today { visits collected { display } earned { display } } }
}
`;

/** The page to try operations on, for sandboxes. Its nine megabytes are loaded when somebody wants them. */
export async function renderGraphiql(options?: GraphiQLOptions): Promise<string> {
  const { renderGraphiQL } = await import("@graphql-yoga/render-graphiql");
  return renderGraphiQL({ ...options, title: "Partner Collections", defaultQuery: WELCOME });
}

/** Lets the page run its own scripts, which the service's other answers may not. */
export function allowGraphiql(response: Response): void {
  response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
}
