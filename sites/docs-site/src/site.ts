import {
  madeOnce,
  answerPage,
  browserModules,
  packageFolder,
  serveBrowserModules,
  type SourceFolders,
  SHARED_BROWSER_MODULES,
  sourceFolder,
  staticFiles,
} from "@collections/web-pages";
import { fileURLToPath } from "node:url";
import { type NextFunction, type Request, type RequestHandler, type Response, Router } from "express";
import type { Logger } from "pino";
import { PAGES as LISTED } from "./contents.ts";
import { OPENAPI, SAMPLES, VECTORS } from "./document-page.ts";
import { layoutPage } from "./layout.ts";
import { LLMS_PATH, markdownFiles } from "./markdown-files.ts";
import { openApiFile } from "./open-api-file.ts";
import { pageContents } from "./page-contents.ts";
import { searchEntries } from "./search-index.ts";

const PAGES = new URL("./pages/", import.meta.url);
const ENTRIES = ["document.ts", "old-reference-links.ts", "reference.ts", "search.ts", "signature-debugger.ts"].map(
  (name) => new URL(name, PAGES),
);

export interface SiteOptions {
  /** The path prefix that a proxy in front of the service removes, or empty. */
  readonly publicBasePath: string;
  readonly log: Logger;
  /** Makes the OpenAPI document with URLs below `publicBasePath`. */
  readonly openApi: (publicBasePath: string) => object;
}

/**
 * Serves the documentation for lenders below /docs: the guides of docs/, the signature debugger, and the files that
 * they load. The pages load nothing from other hosts. Each page is created at its first request.
 */
export function documentationSite({ publicBasePath, log, openApi }: SiteOptions): Router {
  const router = Router({ caseSensitive: true });
  const contents = pageContents(publicBasePath, openApi);
  for (const { path, reference } of LISTED) {
    const made = madeOnce(async () => layoutPage(await contents(path), publicBasePath));
    // Only the reference sends requests: those that a reader tries there.
    const mayConnect = typeof reference === "string" ? "'self'" : "'none'";
    router.get(path, async (_, response) => answerPage(response, await made(), mayConnect));
  }
  router.get(
    OPENAPI.path,
    openApiFile(() => openApi(publicBasePath)),
  );
  const index = madeOnce(async () => {
    // The page of changes has every word, and would hide the pages that explain it.
    const searched = LISTED.filter(({ folder }) => folder === undefined);
    const pages = searched.map(async (page) => searchEntries(page, (await contents(page.path)).main, publicBasePath));
    return `globalThis.documentationIndex=${JSON.stringify((await Promise.all(pages)).flat())}`;
  });
  router.get("/docs/search-index.js", async (_, response) => {
    response
      .set("Cache-Control", "no-cache")
      .type("text/javascript")
      .send(await index());
  });
  router.use(markdownFiles(publicBasePath));
  router.get("/llms.txt", (_, response) => response.redirect(301, `${publicBasePath}${LLMS_PATH}`));
  router.get("/docs/guide", (_, response) => response.redirect(301, `${publicBasePath}/docs`));
  // The `type` of an error answer is a URL with this path.
  router.get("/errors/:code", ({ params }, response) => {
    response.redirect(301, `${publicBasePath}/docs/errors#${encodeURIComponent(params.code)}`);
  });
  router.use("/docs/assets", staticFiles(new URL("./assets/", import.meta.url)));
  router.use("/docs/modules", modules());
  router.use(SAMPLES.path, staticFiles(SAMPLES.folder, asText));
  router.get(VECTORS.path, (_, response) => response.sendFile(fileURLToPath(VECTORS.file)));
  router.use("/docs", (_, response) => {
    answerPage(response.status(404), layoutPage(NOT_FOUND, publicBasePath));
  });
  router.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const { status = 500 } = error as { status?: number };
    if (status >= 500) log.error({ error }, "unexpected error while making a page");
    const page = status >= 500 ? BROKEN : NOT_FOUND;
    answerPage(response.status(status >= 500 ? 500 : 404), layoutPage(page, publicBasePath));
  });
  return router;
}

const NOT_FOUND = {
  title: "Not found",
  main: `<h1>This page does not exist</h1>
<p>The link may be old, or have a letter too many. All pages are in the navigation.</p>`,
};

const BROKEN = {
  title: "Something went wrong",
  main: `<h1>This page could not be created</h1>
<p>It is our fault, and it is written down. The other pages are in the navigation.</p>`,
};

function modules(): RequestHandler {
  const made = madeOnce(async () => serveBrowserModules(await browserModules(ENTRIES, await folders())));
  return async (request, response, next) => (await made())(request, response, next);
}

async function folders(): Promise<SourceFolders> {
  const signing = new URL(import.meta.resolve("@collections/signing"));
  const hashes = await packageFolder("@noble/hashes", signing);
  return {
    pages: sourceFolder(PAGES),
    signing: sourceFolder(new URL(".", signing)),
    hashes,
    minisearch: await packageFolder("minisearch", new URL(import.meta.url)),
    shared: SHARED_BROWSER_MODULES,
  };
}

/** Makes browsers show the file as text instead of running or saving it. */
function asText(response: Response): void {
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
}
