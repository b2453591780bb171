/** A section of a page, as the search finds it. */
export interface SearchEntry {
  readonly url: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
/** The start of a section: a heading with an id, or a row of a table with an id, such as an error code. */
const SECTION = /(?=<h[1-4][ >]|<tr id=")/;

/** Divides the HTML of a page into its sections, as plain text. */
export function searchEntries(page: { title: string; path: string }, html: string, base: string): SearchEntry[] {
  return html.split(SECTION).flatMap((section) => {
    const [, id] = /^<(?:h[1-4]|tr)[^>]* id="([^"]+)"/.exec(section) ?? [];
    const [heading = ""] = /^<h[1-4][^]*?<\/h[1-4]>/.exec(section) ?? [];
    const text = plainText(section.slice(heading.length));
    const title = heading === "" ? (id ?? page.title) : plainText(heading).replace(/ ?#$/, "");
    const url = base + page.path + (id === undefined ? "" : `#${id}`);
    return text === "" ? [] : [{ url, page: page.title, title, text }];
  });
}

function plainText(html: string): string {
  return html
    .replaceAll(/<\/?(?:p|li|dt|dd|td|th|pre|div|summary)\b[^>]*>/g, " ")
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name]!)
    .replaceAll(/\s+/g, " ")
    .trim();
}
