import { readFile } from "node:fs/promises";
import { type RequestHandler, Router } from "express";
import { changesMarkdown } from "./changes.ts";
import { CHAPTERS, DOCS, type Page, PAGES } from "./contents.ts";

/** The path of llms.txt, which lists the pages for language models (https://llmstxt.org). */
export const LLMS_PATH = "/docs/llms.txt";

const SUMMARY = `# Partner Collections for lenders

> Lenders import cases of overdue loans, field partners collect the payments, and the lender confirms each payment exactly
> once. Every request is signed with HMAC-SHA256, and events are delivered as signed webhooks.

Each link leads to the Markdown of a page.`;

/** Serves llms.txt, and the Markdown of each page that has any at the page's path with `.md`. */
export function markdownFiles(base: string): RequestHandler {
  const router = Router({ caseSensitive: true });
  router.get(LLMS_PATH, (_, response) => {
    response.set("Cache-Control", "no-cache").type("text/plain").send(llmsText(base));
  });
  for (const page of PAGES.filter(isMarkdown)) {
    router.get(`${page.path}.md`, async (_, response) => {
      const text = page.file === undefined ? await changesMarkdown() : await readFile(new URL(page.file, DOCS), "utf8");
      response.set("Cache-Control", "no-cache").type("text/markdown").send(text);
    });
  }
  return router;
}

function llmsText(base: string): string {
  const chapters = CHAPTERS.map(({ title, pages }) => {
    const links = pages.filter(isMarkdown).map((page) => linkTo(page, base));
    return links.length === 0 ? "" : `## ${title}\n\n${links.join("\n")}`;
  });
  const openApi = `## OpenAPI\n\n- [OpenAPI document](${base}/openapi.json): every endpoint, event and error as JSON`;
  return `${[SUMMARY, ...chapters.filter(Boolean), openApi].join("\n\n")}\n`;
}

function isMarkdown({ file, folder }: Page): boolean {
  return file !== undefined || folder !== undefined;
}

function linkTo({ path, title }: Page, base: string): string {
  return `- [${title}](${base}${path}.md)`;
}
