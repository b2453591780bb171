/** The parts of a docstring. */
export interface Docstring {
  /** Its sentences, in Markdown. */
  readonly text: string;
  /** For each `@throws`: the name of the error, and when it is thrown. */
  readonly throws: readonly string[];
  /** The code of each `@example`. */
  readonly examples: readonly string[];
  /** Tags that are not shown, such as `@param`. `@deprecated` is not among them: editors and the linter show it. */
  readonly otherTags: readonly string[];
}

/** Parses the text between `/**` and the end of the comment. */
export function readDocstring(comment: string): Docstring {
  const lines = comment
    .trim()
    .split("\n")
    .map((line) => line.replace(/^\s*\*+ ?/, "").trimEnd());
  const parts: { tag: string; lines: string[] }[] = [{ tag: "", lines: [] }];
  for (const line of lines) {
    const [, tag, rest = ""] = /^@(\w+)\s*(.*)$/.exec(line) ?? [];
    if (tag === undefined) parts.at(-1)!.lines.push(line);
    else parts.push({ tag, lines: [rest] });
  }
  const textsOf = (wanted: string) => parts.filter(({ tag }) => tag === wanted).map(({ lines }) => textOf(lines));
  return {
    text: textsOf("")[0]!,
    throws: textsOf("throws").map((text) => text.replaceAll("\n", " ")),
    examples: textsOf("example"),
    otherTags: parts.map(({ tag }) => tag).filter((tag) => !["", "throws", "example", "deprecated"].includes(tag)),
  };
}

function textOf(lines: readonly string[]): string {
  return lines
    .join("\n")
    .replace(/^\s*\n/, "")
    .trimEnd();
}
