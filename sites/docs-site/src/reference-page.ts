import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type RequestHandler, Router } from "express";
import { layoutPage } from "./layout.ts";

/** The installed Swagger UI. Its version is in its path, so that browsers can cache it forever. */
const SWAGGER_UI = new URL(".", import.meta.resolve("swagger-ui-dist/package.json"));
const SWAGGER_FILES = ["swagger-ui-bundle.js", "swagger-ui.css"];
const SWAGGER_PATH = "/docs/swagger-ui";
const YEAR_MS = 31_536_000_000;

/** The input fields have no `name`, so that browsers neither submit their values nor offer to save them. */
const FORM = `<form id="key" autocomplete="off" novalidate>
<div class="field">
<label for="key-id">Key id</label>
<input id="key-id" spellcheck="false" autocapitalize="none" placeholder="lk_…">
</div>
<div class="field">
<label for="secret">Secret</label>
<input id="secret" class="secret" spellcheck="false" autocapitalize="none" placeholder="sk_sandbox_…" aria-describedby="secret-hint">
<p class="hint" id="secret-hint">It stays in this page's memory: it is neither sent nor stored.</p>
</div>
</form>`;

/** Returns the complete HTML of the API reference. `version` is the version of Swagger UI. */
export function referencePage(base: string, version: string): string {
  return layoutPage(
    {
      path: "/docs/reference",
      title: "API reference",
      main: `<h1>API reference</h1>
<p>Every endpoint and every event, from the <a href="${base}/openapi.json">OpenAPI document</a> that the service is tested against. With a key, “Try it out” sends requests to this deployment, signed in your browser.</p>
${FORM}
<div id="reference" data-document="${base}/openapi.json" data-library="${base}${SWAGGER_PATH}/${version}/swagger-ui-bundle.js"><p role="status">Loading…</p></div>
<noscript><p class="fault">This page needs JavaScript. The OpenAPI document itself does not.</p></noscript>`,
      scripts: ["pages/reference.ts"],
      styles: [`${SWAGGER_PATH}/${version}/swagger-ui.css`, "/docs/assets/reference.css"],
      wide: true,
    },
    base,
  );
}

/** Returns the installed version of Swagger UI. */
export async function swaggerUiVersion(): Promise<string> {
  const manifest = await readFile(new URL("package.json", SWAGGER_UI), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Serves the files of Swagger UI that the page needs, and no others. */
export function swaggerUiFiles(): RequestHandler {
  const router = Router({ caseSensitive: true });
  for (const name of SWAGGER_FILES) {
    router.get(`${SWAGGER_PATH}/:version/${name}`, async ({ params }, response, next) => {
      if (params.version !== (await swaggerUiVersion())) return next();
      response.sendFile(name, { root: fileURLToPath(SWAGGER_UI), maxAge: YEAR_MS, immutable: true });
    });
  }
  return router;
}

/** Serves the OpenAPI document, which is made at the first request. */
export function openApiFile(openApi: () => object): RequestHandler {
  let made: { text: string; etag: string } | undefined;
  return (_, response) => {
    made ??= fileOf(JSON.stringify(openApi()));
    response.set({ "Cache-Control": "no-cache", ETag: made.etag }).type("application/json").send(made.text);
  };
}

function fileOf(text: string): { text: string; etag: string } {
  return { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
}
