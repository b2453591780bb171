import { createHash } from "node:crypto";
import { format } from "oxfmt";
import { withoutBuilders } from "./entity.ts";
import type { Export, ReExport, Surface } from "./surface.ts";
import { shortName } from "./workspace.ts";

const PRINT_WIDTH = 120;
/** Longer declarations are cut at this width. */
const DECLARATION_WIDTH = 110;
const HASH_LENGTH = 8;
const RECORDED_BY =
  "One line for each name, as `pnpm surface:record` read it from the code. A long declaration is cut and ends with a hash of the whole.";

/** Returns the Markdown of a package's exports, one line each. A changed declaration changes its line. */
export async function apiReport({ of, exports, reExports, internalTypes, schema }: Surface): Promise<string> {
  const text = [
    `# ${of.name}`,
    `${of.description}. ${RECORDED_BY}`,
    ...chapter("Exports", exports.map(lineOf)),
    ...chapter("Exported again from other packages", reExports.map(reExportLine)),
    ...chapter(`Exports of ${of.name}/schema`, schema.map(lineOf)),
    ...chapter("Not exported, but part of the types above", internalTypes.map(lineOf)),
  ].join("\n\n");
  return formatted(`${shortName(of)}.md`, text);
}

function chapter(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, lines.join("\n")];
}

function lineOf(exported: Export): string {
  const { name, kind, text, declaredName } = exported;
  const declaration = withoutBuilders(text).replaceAll(/\s+/g, " ").replace(/;$/, "");
  const notes = [
    ...(name === declaredName ? [] : [`as ${inlineCode(name)}`]),
    ...(kind === "type" && declaration.startsWith("class ") ? ["as a type only"] : []),
  ];
  return `- ${[inlineCode(shortened(declaration)), ...notes].join(", ")}`;
}

/** Cuts a long declaration and appends a hash, so that a change after the cut is visible too. */
function shortened(declaration: string): string {
  if (declaration.length <= DECLARATION_WIDTH) return declaration;
  const hash = createHash("sha256").update(declaration).digest("hex").slice(0, HASH_LENGTH);
  return `${declaration.slice(0, DECLARATION_WIDTH).trimEnd()}… #${hash}`;
}

function reExportLine({ name, from }: ReExport): string {
  return `- ${inlineCode(name)} from ${linked(from)}`;
}

/**
 * Returns inline code in Markdown. Code that contains a backtick, such as a template literal type, is put between
 * double backticks.
 */
function inlineCode(code: string): string {
  return code.includes("`") ? `\`\` ${code} \`\`` : `\`${code}\``;
}

function linked(origin: string): string {
  const [, folder] = /^@collections\/([\w-]+)$/.exec(origin) ?? [];
  return folder === undefined ? `\`${origin}\`` : `[${origin}](../${folder}/api.md)`;
}

async function formatted(name: string, text: string): Promise<string> {
  const { code, errors } = await format(name, text, { printWidth: PRINT_WIDTH });
  if (errors[0]) throw new Error(`oxfmt failed to format ${name}: ${errors[0].message}`);
  return code;
}
