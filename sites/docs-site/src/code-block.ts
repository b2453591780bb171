import { escapeHtml } from "@collections/web-pages";
import highlighter from "highlight.js/lib/common";

/** The names of the languages of code blocks, as readers know them. The keys are the names in the Markdown files. */
export const LANGUAGES: Readonly<Record<string, string>> = {
  bash: "curl and openssl",
  js: "Node",
  python: "Python",
  php: "PHP",
  java: "Java",
  go: "Go",
  csharp: "C#",
  ruby: "Ruby",
};

/**
 * Renders a block of code. A block that is wider than the screen scrolls, also by keyboard, so the block can have the
 * focus and has a name. The role is `group`, because a page has too many blocks for landmarks.
 *
 * @param name what a screen reader calls the block; by default the language
 */
export function codeBlock(text: string, language: string, name = nameOf(language)): string {
  const inner = highlighter.getLanguage(language) ? highlighter.highlight(text, { language }).value : escapeHtml(text);
  return `<div class="code"><pre tabindex="0" role="group" aria-label="${escapeHtml(name)}"><code>${inner}</code></pre></div>\n`;
}

const NAMES: Readonly<Record<string, string>> = {
  bash: "Shell",
  js: "JavaScript",
  ts: "TypeScript",
  json: "JSON",
  http: "HTTP",
  sql: "SQL",
};

function nameOf(language: string): string {
  const name = NAMES[language] ?? LANGUAGES[language];
  return name === undefined ? "Text" : `Code: ${name}`;
}
