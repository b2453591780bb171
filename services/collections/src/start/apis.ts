import type { Express, RequestHandler } from "express";
import type { App } from "../app.ts";
import { graphqlEndpoint } from "../graphql/handler.ts";
import { endpointRouter } from "../rest/endpoint/endpoint-router.ts";
import { openApiDocument } from "../rest/openapi/document.ts";
import { ENDPOINTS } from "../rest/v1/endpoints.ts";
import { whatsappCallback } from "../rest/whatsapp-callback.ts";

/**
 * Serves everything that lenders and field partners use: both APIs, the callback of WhatsApp, the documentation, in a
 * sandbox the field partner's app, and where it is on the operators' console. `close` ends the open subscriptions.
 *
 * @param operationMs the time limit of one operation of the app's API
 */
export function serveApis(web: Express, app: App, operationMs: number): { close(): void } {
  const { config } = app;
  const graphql = graphqlEndpoint(app, operationMs);
  web.use("/graphql", graphql.handler);
  if (config.isSandbox)
    web.use(onFirstRequest(FIELD_APP, async () => (await import("@collections/field-app")).fieldApp(config)));
  if (config.hasConsole)
    web.use(onFirstRequest(CONSOLE, async () => (await import("./console.ts")).createConsole(app)));
  // A person who opens the service's address in a browser is led to the documentation, which every deployment serves.
  web.get("/", (_, response) => response.redirect(302, `${config.documentationUrl}/docs`));
  const openApi = (basePath: string) => openApiDocument(basePath, config.documentationUrl);
  const site = { publicBasePath: config.publicBasePath, log: app.log, openApi };
  web.use(onFirstRequest(DOCUMENTATION, async () => (await import("@collections/docs-site")).documentationSite(site)));
  web.use(whatsappCallback(app));
  web.use(endpointRouter(ENDPOINTS, app));
  return { close: () => graphql.close() };
}

const FIELD_APP = /^\/app(?:\/|$)/;
const CONSOLE = /^\/console(?:\/|$)/;
const DOCUMENTATION = /^\/(?:docs|errors|openapi\.json|llms\.txt)(?:\/|$)/;

/** Loads a site at the first request for one of its paths, because a server starts sooner without its modules. */
function onFirstRequest(paths: RegExp, load: () => Promise<RequestHandler>): RequestHandler {
  let site: Promise<RequestHandler> | undefined;
  return async (request, response, next) => {
    if (!paths.test(request.path)) return next();
    site ??= load();
    (await site)(request, response, next);
  };
}
