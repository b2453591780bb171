import { format } from "oxfmt";
import type { Kind } from "./declared-module.ts";
import type { Docstring } from "./docstring.ts";
import { withoutBuilders } from "./entity.ts";
import type { Export, HandedOn, Surface } from "./surface.ts";
import { shortName } from "./workspace.ts";

const PRINT_WIDTH = 120;
const CHAPTERS: readonly [Kind, string][] = [
  ["function", "Functions"],
  ["class", "Classes"],
  ["constant", "Constants"],
  ["type", "Types"],
];
/** The Markdown of a package's surface, formatted as the repository's other files are. */
export async function apiReport({ of, exports, handedOn, beneath, schema }: Surface): Promise<string> {
  const text = [
    `# ${of.name}`,
    `${of.description}. These are all the names that it exports, as \`pnpm surface:record\` has read them from the code.`,
    ...CHAPTERS.flatMap(([kind, title]) =>
      chapter(
        title,
        exports.filter((one) => one.kind === kind),
      ),
    ),
    ...handedOnChapter(handedOn),
    ...chapter("The schema", schema, `What \`${of.name}/schema\` exports: what the package keeps in PostgreSQL.`),
    ...chapter("Said by these types", beneath, "Not exported, and part of what the types above say."),
  ].join("\n\n");
  return formatted(`${shortName(of)}.md`, text);
}

function chapter(title: string, exports: readonly Export[], preface?: string): string[] {
  if (exports.length === 0) return [];
  return [`## ${title}`, ...(preface ? [preface] : []), ...exports.flatMap(section)];
}

function section({ name, text, doc }: Export): string[] {
  return [
    `### ${name}`,
    ...sentences(doc),
    codeBlock(withoutBuilders(text)),
    ...(doc?.examples ?? []).flatMap(exampleBlock),
  ];
}

function sentences(doc: Docstring | undefined): string[] {
  if (!doc) return [];
  const throws = doc.throws.map((thrown) => `Throws ${thrown.replace(/^(\w+Error)\b/, "`$1`")}.`);
  return [doc.text, ...throws].filter(Boolean).map(withoutHtml);
}

function exampleBlock(example: string): string[] {
  return ["Example:", codeBlock(example)];
}

function codeBlock(code: string): string {
  return `\`\`\`ts\n${code}\n\`\`\``;
}

/** The site takes HTML in Markdown as it is; a docstring has none, and outside of code `<` means just that. */
function withoutHtml(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "&lt;")))
    .join("");
}

/** Docstrings of what is handed on are where it comes from. */
function handedOnChapter(handedOn: readonly HandedOn[]): string[] {
  if (handedOn.length === 0) return [];
  const origins = [...new Set(handedOn.map(({ from }) => from))].toSorted();
  const lines = origins.map((origin) => {
    const names = handedOn.filter(({ from }) => from === origin).map(({ name }) => `\`${name}\``);
    return `- ${linked(origin)}: ${names.join(", ")}`;
  });
  return ["## Handed on from other packages", lines.join("\n")];
}

function linked(origin: string): string {
  const [, folder] = /^@collections\/([\w-]+)$/.exec(origin) ?? [];
  return folder === undefined ? `\`${origin}\`` : `[${origin}](../${folder}/api.md)`;
}

async function formatted(name: string, text: string): Promise<string> {
  const { code, errors } = await format(name, text, { printWidth: PRINT_WIDTH });
  if (errors[0]) throw new Error(`oxfmt cannot format ${name}: ${errors[0].message}`);
  return code;
}
