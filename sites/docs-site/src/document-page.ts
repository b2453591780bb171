import { readFile } from "node:fs/promises";
import { DOCS, type Page, PAGES } from "./contents.ts";
import type { PageContent } from "./layout.ts";

/** Files that the documents link to, by their paths on the site. */
export const SAMPLES = { path: "/docs/samples", folder: new URL("lenders/samples/", DOCS) };
export const OPENAPI = { path: "/openapi.json", file: new URL("openapi.json", DOCS) };
export const VECTORS = {
  path: "/docs/vectors.json",
  file: new URL(import.meta.resolve("@collections/signing/vectors.json")),
};

/** Returns the content of a page that is a Markdown file. */
export async function documentContent(page: Page & { file: string }, base: string): Promise<PageContent> {
  const url = new URL(page.file, DOCS);
  return markdownContent(page, await readFile(url, "utf8"), url, base);
}

/** Returns the content of a page from its Markdown. Links in the Markdown are relative to `url`. */
export async function markdownContent(
  { path, title }: Page,
  text: string,
  url: URL,
  base: string,
): Promise<PageContent> {
  // Imports the Markdown parser and the highlighter only when the first page is requested, so that the server starts
  // sooner.
  const { renderMarkdown } = await import("./markdown.ts");
  const { html, headings } = renderMarkdown(text, (href) => targetOf(href, url, base));
  return { path, title, main: html, headings };
}

/** Converts a link to another file into a link to its page. Returns undefined if the site does not serve the file. */
function targetOf(href: string, from: URL, base: string): string | undefined {
  if (href.startsWith("#") || URL.canParse(href)) return href;
  const { href: target, hash } = new URL(href, from);
  const path = pathOf(target.slice(0, target.length - hash.length));
  return path === undefined ? undefined : base + path + hash;
}

function pathOf(file: string): string | undefined {
  const served = [VECTORS, OPENAPI].find((one) => one.file.href === file);
  if (served) return served.path;
  if (file.startsWith(SAMPLES.folder.href)) return `${SAMPLES.path}/${file.slice(SAMPLES.folder.href.length)}`;
  return PAGES.find((page) => page.file !== undefined && new URL(page.file, DOCS).href === file)?.path;
}
