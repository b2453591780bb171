import { escapeHtml } from "@collections/web-pages";
import { Marked, type Renderer, type Token, type Tokens } from "marked";
import { codeBlock } from "./code-block.ts";
import { sampleTabs } from "./sample-tabs.ts";

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

/** The comments around sections that each show the same sample in another language. */
const TABS_BEGIN = /^<!-- tabs -->\s*$/;
const TABS_END = /^<!-- end of tabs -->\s*$/;

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
      code: ({ text, lang = "" }) => codeBlock(text, lang.split(" ", 1)[0] as string),
      table(token) {
        return renderedTable(this.parser, token, { rowNames, name: headings.at(-1)?.text ?? "Table" });
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
  const html = partsOf(marked.lexer(text)).map((part) =>
    "tabs" in part ? renderedTabs(part.tabs, (tokens) => marked.parser(tokens), headings) : marked.parser(part.tokens),
  );
  return { html: html.join(""), headings };
}

type Part = { readonly tokens: Token[] } | { readonly tabs: readonly Token[] };

/** Divides a document into the sections between the comments of tabs, and the other parts. */
function partsOf(tokens: readonly Token[]): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const [at, token] of tokens.entries()) {
    if (token.type !== "html") continue;
    if (TABS_BEGIN.test(token.raw)) {
      parts.push({ tokens: tokens.slice(from, at) });
      from = at + 1;
    } else if (TABS_END.test(token.raw)) {
      parts.push({ tabs: tokens.slice(from, at) });
      from = at + 1;
    }
  }
  return [...parts, { tokens: tokens.slice(from) }];
}

/** Renders sections as tabs. Each begins with a heading, and its first block of code says in which language it is. */
function renderedTabs(tokens: readonly Token[], render: (tokens: Token[]) => string, headings: readonly Heading[]) {
  const starts = tokens.flatMap(({ type }, at) => (type === "heading" ? [at] : []));
  const samples = starts.map((start, index) => {
    const section = tokens.slice(start, starts[index + 1]);
    const code = section.find(({ type }) => type === "code") as Tokens.Code | undefined;
    return { language: code?.lang?.split(" ", 1)[0] ?? "", html: render(section) };
  });
  const before = render(tokens.slice(0, starts[0]));
  return before + sampleTabs(`samples-${headings.length}`, samples);
}

type Parser = Renderer["parser"];

function renderedHeading(parser: Parser, token: Tokens.Heading, before: readonly Heading[]) {
  const inner = parser.parseInline(token.tokens);
  const text = parser.parseInline(token.tokens, parser.textRenderer);
  const anchor = unused(anchorOf(text), before);
  const link = `<a class="anchor" href="#${anchor}" aria-label="Link to: ${escapeHtml(text)}">#</a>`;
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

/**
 * Renders a table. If it has three or more columns, each cell also gets the name of its column, because on a phone the
 * cells of a row are below each other. A table that is wider than the page scrolls, also by keyboard, so the box around
 * it can have the focus and has a name: the heading above the table.
 */
function renderedTable(
  parser: Parser,
  { header, rows, align }: Tokens.Table,
  { rowNames, name }: { rowNames: Set<string>; name: string },
): string {
  const labels = header.map(({ tokens }) => escapeHtml(parser.parseInline(tokens, parser.textRenderer)));
  const isWide = labels.length > 2;
  const cell = (tag: string, column: number, { tokens }: Tokens.TableCell) => {
    const aligned = align[column] ? ` class="${align[column]}"` : "";
    const role = tag === "th" ? ' role="columnheader"' : ` role="cell" data-label="${labels[column]}"`;
    return `<${tag}${aligned}${isWide ? role : ""}>${parser.parseInline(tokens)}</${tag}>`;
  };
  const cells = (tag: string, row: readonly Tokens.TableCell[]) =>
    row.map((each, column) => cell(tag, column, each)).join("");
  // On narrow screens, CSS lays out these tables as blocks. Screen readers then recognize tables only by explicit
  // roles.
  const [tableRole, rowRole] = isWide ? [' role="table" class="wide"', ' role="row"'] : ["", ""];
  const head = `<thead><tr${rowRole}>${cells("th", header)}</tr></thead>`;
  const body = rows.map((row) => `<tr${rowId(row, rowNames)}${rowRole}>${cells("td", row)}</tr>`).join("\n");
  const box = `<div class="table" tabindex="0" role="group" aria-label="Table: ${escapeHtml(name)}">`;
  return `${box}<table${tableRole}>${head}<tbody>${body}</tbody></table></div>\n`;
}

function rowId(row: readonly Tokens.TableCell[], rowNames: Set<string>): string {
  const [, name] = row.map(({ text }) => ROW_NAME.exec(text)).find((match) => match !== null) ?? [];
  if (name === undefined || rowNames.has(name)) return "";
  rowNames.add(name);
  return ` id="${name}"`;
}
