import { escapeHtml } from "@collections/web-pages";
import highlighter from "highlight.js/lib/common";
import { Marked, type Renderer, type Tokens } from "marked";

/** A heading of a document: its text without markup, and the id that links lead to. */
export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

export interface RenderedDocument {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/**
 * Returns where a link leads on the site. Returns undefined if the site does not have the target; then only the link's
 * text is kept.
 */
export type LinkTarget = (href: string) => string | undefined;

/**
 * Matches a cell that contains only an error code. The code becomes the row's id, so `#LOAN_NOT_FOUND` leads to the
 * row.
 */
const ROW_NAME = /^`([A-Z][A-Z0-9_]{3,})`$/;

/** Renders one of our own Markdown files. HTML in it is not escaped, so the text must be trusted. */
export function renderMarkdown(text: string, targetOf: LinkTarget): RenderedDocument {
  const headings: Heading[] = [];
  const rowNames = new Set<string>();
  const marked = new Marked({
    renderer: {
      heading(token) {
        const { html, heading } = renderedHeading(this.parser, token, headings);
        headings.push(heading);
        return html;
      },
      code: ({ text, lang = "" }) => renderedCode(text, lang.split(" ", 1)[0] as string),
      table(token) {
        return renderedTable(this.parser, token, rowNames);
      },
      link({ href, title, tokens }) {
        const target = targetOf(href);
        const inner = this.parser.parseInline(tokens);
        if (target === undefined) return inner;
        const titled = title ? ` title="${escapeHtml(title)}"` : "";
        return `<a href="${escapeHtml(target)}"${titled}>${inner}</a>`;
      },
    },
  });
  return { html: marked.parse(text, { async: false }), headings };
}

type Parser = Renderer["parser"];

function renderedHeading(parser: Parser, token: Tokens.Heading, before: readonly Heading[]) {
  const inner = parser.parseInline(token.tokens);
  const text = parser.parseInline(token.tokens, parser.textRenderer);
  const anchor = unused(anchorOf(text), before);
  const link = `<a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a>`;
  const html = `<h${token.depth} id="${anchor}">${inner} ${link}</h${token.depth}>\n`;
  return { html, heading: { level: token.depth, text, anchor } };
}

/** Returns the same anchor as GitHub, so that a link within a file works on GitHub and on this site. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function unused(anchor: string, before: readonly Heading[]): string {
  let free = anchor;
  for (let count = 1; before.some((heading) => heading.anchor === free); count += 1) free = `${anchor}-${count}`;
  return free;
}

function renderedCode(text: string, language: string): string {
  const inner = highlighter.getLanguage(language) ? highlighter.highlight(text, { language }).value : escapeHtml(text);
  // A block that is wider than the screen can be scrolled, also by keyboard.
  return `<div class="code"><pre tabindex="0"><code>${inner}</code></pre></div>\n`;
}

/**
 * Renders a table. If it has three or more columns, each cell also gets the name of its column, because on a phone the
 * cells of a row are below each other.
 */
function renderedTable(parser: Parser, { header, rows, align }: Tokens.Table, rowNames: Set<string>): string {
  const labels = header.map(({ tokens }) => escapeHtml(parser.parseInline(tokens, parser.textRenderer)));
  const isWide = labels.length > 2;
  const cell = (tag: string, column: number, { tokens }: Tokens.TableCell) => {
    const aligned = align[column] ? ` class="${align[column]}"` : "";
    const labelled = isWide && tag === "td" ? ` role="cell" data-label="${labels[column]}"` : "";
    return `<${tag}${aligned}${labelled}>${parser.parseInline(tokens)}</${tag}>`;
  };
  const cells = (tag: string, row: readonly Tokens.TableCell[]) =>
    row.map((each, column) => cell(tag, column, each)).join("");
  // On narrow screens, CSS lays out these tables as blocks. Screen readers then recognize tables only by explicit
  // roles.
  const [tableRole, rowRole] = isWide ? [' role="table" class="wide"', ' role="row"'] : ["", ""];
  const head = `<thead><tr${rowRole}>${cells("th", header)}</tr></thead>`;
  const body = rows.map((row) => `<tr${rowId(row, rowNames)}${rowRole}>${cells("td", row)}</tr>`).join("\n");
  return `<div class="table"><table${tableRole}>${head}<tbody>${body}</tbody></table></div>\n`;
}

function rowId(row: readonly Tokens.TableCell[], rowNames: Set<string>): string {
  const [, name] = row.map(({ text }) => ROW_NAME.exec(text)).find((match) => match !== null) ?? [];
  if (name === undefined || rowNames.has(name)) return "";
  rowNames.add(name);
  return ` id="${name}"`;
}
