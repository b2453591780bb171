import {
  answerPage,
  type BrowserModules,
  browserModules,
  serveBrowserModules,
  madeOnce,
  SHARED_BROWSER_MODULES,
  sourceFolder,
  staticFiles,
} from "@collections/web-pages";
import { type RequestHandler, Router } from "express";
import { appPage, STYLES } from "./page.ts";

const PHONE = new URL("./phone/", import.meta.url);
const WORKER = new URL("./worker/", import.meta.url);
const ASSETS = new URL("./assets/", import.meta.url);
const WORKER_MODULE = "worker/offline.ts";

export interface FieldAppOptions {
  /** The path prefix that a proxy in front of the service removes, or empty. */
  readonly publicBasePath: string;
}

/**
 * Serves the field partners' app for browsers below /app. Mount it in sandboxes only: the app demonstrates the product
 * and acts as a field partner on the public GraphQL API. It loads nothing from other hosts.
 */
export function fieldApp({ publicBasePath }: FieldAppOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/app", (_, response) => answerPage(response, appPage(publicBasePath), "'self'"));
  router.get("/app/", (_, response) => response.redirect(301, `${publicBasePath}/app`));
  router.get("/app/shell.json", async (_, response) => {
    response.set("Cache-Control", "no-cache").json(shell(await modulesMade(), publicBasePath));
  });
  router.use("/app/assets", staticFiles(ASSETS));
  router.use("/app/modules", modules());
  return router;
}

const modulesMade = madeOnce(() =>
  browserModules([new URL("main.ts", PHONE), new URL("offline.ts", WORKER)], {
    phone: sourceFolder(PHONE),
    worker: sourceFolder(WORKER),
    shared: SHARED_BROWSER_MODULES,
    uqr: sourceFolder(new URL(".", import.meta.resolve("uqr"))),
  }),
);
const modulesServed = madeOnce(async () => serveBrowserModules(await modulesMade()));

/** Returns the files that the service worker stores, so that the app opens without a network. */
function shell(modules: BrowserModules, base: string): string[] {
  const scripts = [...modules.keys()].filter((path) => path !== WORKER_MODULE);
  const files = [...STYLES.map((name) => `assets/${name}`), ...scripts.map((path) => `modules/${path}`)];
  return [`${base}/app`, ...files.map((path) => `${base}/app/${path}`)];
}

function modules(): RequestHandler {
  return async (request, response, next) => {
    const serve = await modulesServed();
    // By default a service worker controls only URLs below its own path. This header lets the worker control all URLs.
    if (request.path === `/${WORKER_MODULE}`) response.set("Service-Worker-Allowed", "/");
    serve(request, response, next);
  };
}
