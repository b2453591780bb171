import { escapeHtml } from "@collections/web-pages";
import { codeBlock } from "../code-block.ts";
import { type Page, PAGES, PROBLEMS, REFERENCE_PATH, WEBHOOKS } from "../contents.ts";
import type { PageContent } from "../layout.ts";
import { renderMarkdown } from "../markdown.ts";
import { type Example, type OpenApi, type Operation, resolve, type Schema } from "./open-api.ts";
import { endpointSection, type Shared, webhookSection } from "./operation-section.ts";
import { SchemaFields } from "./schema-fields.ts";

/** The input fields have no `name`, so that browsers neither submit their values nor offer to save them. */
const KEY_FORM = `<h2 id="your-key">Your key</h2>
<p>With a key of this deployment, “Try it” sends requests that are signed in your browser.</p>
<form id="key" autocomplete="off" novalidate aria-labelledby="your-key">
<div class="field">
<label for="key-id">Key id</label>
<input id="key-id" spellcheck="false" autocapitalize="none" placeholder="lk_…">
</div>
<div class="field">
<label for="secret">Secret</label>
<input id="secret" class="secret" spellcheck="false" autocapitalize="none" placeholder="sk_sandbox_…" aria-describedby="secret-hint">
<p class="hint" id="secret-hint">It stays in this page's memory: it is neither sent nor stored.</p>
</div>
</form>
<noscript><p class="fault">To try requests on this page, JavaScript is needed. Everything else works without it.</p></noscript>`;

/** Returns the first page of the API reference: how requests are signed, and a list of all endpoints. */
export function overviewContent(openApi: OpenApi, base: string): PageContent {
  const { markdown } = sharedBy(openApi, base);
  const chapters = PAGES.flatMap((page) => {
    const operations = operationsOf(openApi, page.reference);
    return operations.length === 0 ? [] : [{ page, operations }];
  });
  const shown = chapters.map(({ page, operations }) => {
    const list = overview(operations, base + page.path);
    return `<h2 id="${anchorOf(page)}"><a href="${base}${page.path}">${escapeHtml(page.title)}</a></h2>\n${list}`;
  });
  return {
    path: REFERENCE_PATH,
    title: "API reference",
    main: `<h1>API reference</h1>
<p>Every endpoint, event and error, from the <a href="${base}/openapi.json">OpenAPI document</a> that the service is tested against.</p>
${markdown(openApi.info.description ?? "")}
${shown.join("\n")}
<h2 id="errors">Errors</h2>
<p><a href="${base}${problemsPath()}">Error objects</a> have the fields of every error, and <a href="${base}/docs/errors">Errors</a> says what to do about each code.</p>`,
    scripts: ["pages/old-reference-links.ts"],
    styles: STYLES,
  };
}

/** Returns a page of the API reference: the endpoints of a tag, the requests to lenders, or the errors. */
export function referenceContent(openApi: OpenApi, page: Page, base: string): PageContent {
  const shared = sharedBy(openApi, base);
  if (page.reference === PROBLEMS) return problemsContent(shared, page);
  const operations = operationsOf(openApi, page.reference);
  const isWebhooks = page.reference === WEBHOOKS;
  const tag = openApi.tags?.find(({ name }) => name === page.reference);
  const sections = operations.map(({ operation, place, label }) =>
    isWebhooks ? webhookSection(shared, label, operation) : endpointSection(shared, place, operation),
  );
  const intro = isWebhooks
    ? "The service sends these requests to your server. Each is signed in the same way as your own requests."
    : (tag?.description ?? "");
  return {
    path: page.path,
    title: page.title,
    main: `<h1>${escapeHtml(page.title)}</h1>
${shared.markdown(intro)}
${overview(operations, "")}
${isWebhooks ? "" : KEY_FORM}
${sections.join("\n")}`,
    headings: operations.map(({ operation: { summary, operationId } }) => ({
      level: 2,
      text: summary,
      anchor: operationId,
    })),
    scripts: isWebhooks ? [] : ["pages/reference.ts"],
    styles: STYLES,
  };
}

const STYLES = ["/docs/assets/forms.css", "/docs/assets/reference.css"];

interface Listed {
  readonly operation: Operation;
  readonly place: { readonly method: string; readonly path: string };
  readonly label: string;
}

function operationsOf({ paths, webhooks = {} }: OpenApi, part: Page["reference"]): Listed[] {
  const all = Object.entries(part === WEBHOOKS ? webhooks : paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Listed => {
      const label = part === WEBHOOKS ? path : `${method.toUpperCase()} ${path}`;
      return { operation, place: { method, path }, label };
    }),
  );
  return part === WEBHOOKS ? all : all.filter(({ operation }) => operation.tags?.some((tag) => tag === part));
}

function anchorOf({ path }: Page): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function problemsPath(): string {
  return PAGES.find(({ reference }) => reference === PROBLEMS)!.path;
}

/** Returns the schemas of the errors, and an example of each code. The answers of the endpoints link to them. */
function problemsContent({ openApi, fields, markdown }: Shared, page: Page): PageContent {
  const schemas = Object.entries(openApi.components["schemas"] ?? {}).filter(([name]) => name.endsWith("Problem"));
  const shown = schemas.map(([name, schema]) => {
    const { description = "" } = schema as Schema;
    return `<h2 id="${name}">${name}</h2>
${markdown(description)}
<details class="nested"><summary>Fields of ${name}</summary>
${fields.fields(schema as Schema, [name])}</details>`;
  });
  const examples = Object.entries(openApi.components["examples"] ?? {}).map(([code, example]) => {
    const { summary = "", value } = resolve(openApi, example as Example);
    return `<details class="nested"><summary id="example-${code}"><code>${code}</code> ${escapeHtml(summary)}</summary>
${codeBlock(JSON.stringify(value, null, 2), "json", `Example of ${code}`)}</details>`;
  });
  return {
    path: page.path,
    title: page.title,
    main: `<h1>${escapeHtml(page.title)}</h1>
<p>Every error answer has one of these objects as its body, with the media type <code>application/problem+json</code>.</p>
${shown.join("\n")}
<h2 id="examples">Examples of all errors</h2>
${examples.join("\n")}`,
    headings: [...schemas.map(([name]) => name), "examples"].map((anchor) => ({
      level: 2,
      text: anchor === "examples" ? "Examples of all errors" : anchor,
      anchor,
    })),
    styles: STYLES,
  };
}

/** Returns a list of links to operations, which are on the page `path`. */
function overview(operations: readonly Listed[], path: string): string {
  const items = operations.map(
    ({ operation, label }) =>
      `<li><a href="${path}#${operation.operationId}">${escapeHtml(operation.summary)}</a> <code>${escapeHtml(label)}</code></li>`,
  );
  return `<ul class="overview">\n${items.join("\n")}\n</ul>`;
}

function sharedBy(openApi: OpenApi, base: string): Shared {
  const codes = new Set(Object.keys(openApi.components["examples"] ?? {}));
  const linked = (html: string) =>
    html.replaceAll(/<code>([A-Z][A-Z0-9_]+)<\/code>/g, (code, name: string) =>
      codes.has(name) ? `<a href="${base}/docs/errors#${name}">${code}</a>` : code,
    );
  const markdown = (text: string) => linked(renderMarkdown(text, (href) => href).html);
  const inline = (text: string) => markdown(text).replace(/^<p>([^]*?)<\/p>\n$/, "$1");
  return { openApi, problems: base + problemsPath(), fields: new SchemaFields(openApi, inline), markdown };
}
