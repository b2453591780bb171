import { escapeHtml } from "@collections/web-pages";
import { CHAPTERS, type Page, PAGES } from "./contents.ts";
import type { Heading } from "./markdown.ts";

/** The content of a page; `layoutPage` adds the frame. */
export interface PageContent {
  /** The page's path in the navigation, such as /docs/reference; missing if the navigation does not list the page. */
  readonly path?: string;
  readonly title: string;
  /** The HTML of the main part, including its h1. */
  readonly main: string;
  /** The page's headings. The navigation lists the headings of level 2 below the page. */
  readonly headings?: readonly Heading[];
  /** The modules that the page runs besides `pages/document.ts`, below /docs/modules. */
  readonly scripts?: readonly string[];
  /** Further style sheets, as paths of this site. */
  readonly styles?: readonly string[];
  /** True if the page uses the whole width of the window; false for running text. */
  readonly wide?: boolean;
}

/** A tick on a square. It is embedded, so that a page loads no image. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f766e"/>` +
    `<path d="M9 17.5l4.5 4.5L23 11" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"/></svg>`,
)}`;

/** Returns a complete HTML page. `base` is the path prefix that a proxy in front of the service removes, or empty. */
export function layoutPage(content: PageContent, base: string): string {
  const { path, title, main, scripts = [], styles = [], wide = false } = content;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Partner Collections</title>
<link rel="icon" href="${ICON}">
${["/docs/assets/site.css", "/docs/assets/code.css", "/docs/assets/search.css", ...styles].map((each) => `<link rel="stylesheet" href="${base}${each}">`).join("\n")}
${["pages/document.ts", "pages/search.ts", ...scripts].map((each) => `<script type="module" src="${base}/docs/modules/${each}"></script>`).join("\n")}
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header class="top">
<button class="menu" type="button" popovertarget="navigation">Menu</button>
<a class="brand" href="${base}/docs">Partner Collections <span>for lenders</span></a>
<button class="search-button" id="search-button" type="button" hidden>Search</button>
</header>
<dialog id="search" aria-label="Search" data-index="${base}/docs/search-index.js">
<label for="search-text">Search the documentation</label>
<input id="search-text" type="search" autocomplete="off" spellcheck="false">
<p id="search-status" role="status"></p>
<ul id="search-results"></ul>
</dialog>
<div class="frame">
<nav id="navigation" popover aria-label="Documentation">
${navigation(content, base)}
</nav>
<main id="main" tabindex="-1"${wide ? ' class="wide"' : ""}>
${main}
${path === undefined ? "" : neighbours(path, base)}
</main>
</div>
</body>
</html>
`;
}

function navigation({ path, headings = [] }: PageContent, base: string): string {
  const sections = headings.filter(({ level }) => level === 2);
  return CHAPTERS.map(({ title, pages }) => {
    const items = pages.map((page) => navigationItem(page, page.path === path ? sections : undefined, base));
    return `<p class="chapter">${title}</p>\n<ul>\n${items.join("\n")}\n</ul>`;
  }).join("\n");
}

/**
 * Returns the navigation's link to a page. `sections` is given only for the open page: the headings to link to below
 * it.
 */
function navigationItem({ path, title }: Page, sections: readonly Heading[] | undefined, base: string): string {
  const link = `<a href="${base}${path}"${sections ? ' aria-current="page"' : ""}>${escapeHtml(title)}</a>`;
  if (!sections || sections.length === 0) return `<li>${link}</li>`;
  const links = sections.map(({ text, anchor }) => `<li><a href="#${anchor}">${escapeHtml(text)}</a></li>`);
  return `<li>${link}<ul>${links.join("")}</ul></li>`;
}

/** Returns the links to the previous and the next page, in the order of the navigation. */
function neighbours(path: string, base: string): string {
  const at = PAGES.findIndex((page) => page.path === path);
  const link = (page: Page | undefined, rel: string, label: string) =>
    page
      ? `<a rel="${rel}" href="${base}${page.path}"><span>${label}</span> ${escapeHtml(page.title)}</a>`
      : `<span></span>`;
  const previous = at > 0 ? PAGES[at - 1] : undefined;
  return `<nav class="neighbours" aria-label="Previous and next page">
${link(previous, "prev", "Previous")}
${link(at === -1 ? undefined : PAGES[at + 1], "next", "Next")}
</nav>`;
}
