import type { Response } from "express";
import type { GraphiQLOptions } from "graphql-yoga";

/** Forbids the GraphiQL page to load anything from other hosts. The page contains all that it needs. */
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

/**
 * Returns the GraphiQL page, where developers try operations, in sandboxes only. Its nine megabytes are loaded at the
 * first request.
 */
export async function renderGraphiql(options?: GraphiQLOptions): Promise<string> {
  const { renderGraphiQL } = await import("@graphql-yoga/render-graphiql");
  return renderGraphiQL({ ...options, title: "Partner Collections", defaultQuery: WELCOME });
}

/**
 * Sets the Content-Security-Policy that lets the GraphiQL page run its own scripts. Other answers of the service may
 * not run scripts.
 */
export function allowGraphiql(response: Response): void {
  response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
}
