import { answerPage, madeOnce, staticFiles } from "@collections/web-pages";
import { type RequestHandler, Router } from "express";
import { appScript, appStyles, type ServedFile, workerScript } from "./bundle.ts";
import { appManifest, appPage } from "./page.ts";
import { serveText } from "./serve-file.ts";

const ICONS = new URL("./assets/icons/", import.meta.url);

export interface FieldAppOptions {
  /** The path prefix that a proxy in front of the service removes, or empty. */
  readonly publicBasePath: string;
}

/**
 * Serves the field partners' app for browsers below /app. Mount it in sandboxes only: the app demonstrates the product
 * and acts as a field partner on the public GraphQL API. It loads nothing from other hosts.
 */
export function fieldApp({ publicBasePath: base }: FieldAppOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/app", async (_, response) => {
    const { script, styles } = await files();
    const more = { "img-src": "'self' data:", "manifest-src": "'self'" };
    answerPage(response, appPage(base, { script: script.path, styles: styles.path }), "'self'", more);
  });
  router.get("/app/", (_, response) => response.redirect(301, `${base}/app`));
  router.get("/app/manifest.webmanifest", (_, response) => {
    response
      .set("Cache-Control", "no-cache")
      .type("application/manifest+json")
      .send(JSON.stringify(appManifest(base)));
  });
  // The files that the service worker stores, so that the app opens without a network.
  router.get("/app/shell.json", async (_, response) => {
    const { script, styles } = await files();
    const paths = [script.path, styles.path, "/manifest.webmanifest", ...ICON_PATHS];
    response.set("Cache-Control", "no-cache").json([`${base}/app`, ...paths.map((path) => `${base}/app${path}`)]);
  });
  router.use("/app/icons", staticFiles(ICONS));
  router.use("/app", filesServed());
  return router;
}

const ICON_PATHS = ["/icons/icon.svg", "/icons/icon-192.png"];

const files = madeOnce(async () => {
  const [script, styles, worker] = await Promise.all([appScript(), appStyles(), workerScript()]);
  return { script, styles, worker };
});

/** Serves the scripts and the styles, which are made at the first request. */
function filesServed(): RequestHandler {
  const served = madeOnce(async () => {
    const { script, styles, worker } = await files();
    const router = Router({ caseSensitive: true, strict: true });
    const serve = ({ path, text }: ServedFile, type: string) =>
      router.get(path, serveText({ type, text, isImmutable: true }));
    serve(script, "text/javascript");
    serve(styles, "text/css");
    // By default a service worker controls only URLs below its own path. This header lets it control /app itself too.
    const headers = { "Service-Worker-Allowed": `/` };
    router.get(worker.path, serveText({ type: "text/javascript", text: worker.text, isImmutable: false, headers }));
    return router;
  });
  return async (request, response, next) => (await served())(request, response, next);
}
