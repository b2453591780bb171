import { PAGES, REFERENCE_PATH } from "./contents.ts";
import { changesMarkdown } from "./changes.ts";
import { documentContent, markdownContent } from "./document-page.ts";
import type { PageContent } from "./layout.ts";
import type { OpenApi } from "./reference/open-api.ts";
import { SIGNATURE_CONTENT } from "./signature-page.ts";

/**
 * Returns a function that makes the content of the page with a path, at its first call for the page. It rejects with an
 * error if the navigation does not list the path.
 */
export function pageContents(
  base: string,
  openApi: (publicBasePath: string) => object,
): (path: string) => Promise<PageContent> {
  const made = new Map<string, Promise<PageContent>>();
  return (path) => {
    const content = made.get(path) ?? makeContent(path, base, openApi);
    made.set(path, content);
    // The next call tries again after a failure.
    content.catch(() => made.delete(path));
    return content;
  };
}

async function makeContent(
  path: string,
  base: string,
  openApi: (publicBasePath: string) => object,
): Promise<PageContent> {
  if (path === SIGNATURE_CONTENT.path) return SIGNATURE_CONTENT;
  const page = PAGES.find((each) => each.path === path);
  if (path === REFERENCE_PATH || page?.reference !== undefined) {
    const { overviewContent, referenceContent } = await import("./reference/reference-page.ts");
    const document = openApi(base) as OpenApi;
    return page?.reference === undefined ? overviewContent(document, base) : referenceContent(document, page, base);
  }
  if (page?.folder !== undefined) return markdownContent(page, await changesMarkdown(), page.folder, base);
  if (page?.file === undefined) throw new TypeError(`The navigation has no page with the path ${path}.`);
  return documentContent({ ...page, file: page.file }, base);
}
