/** The words of a command line as the shell passes them, except that `$NAME` and `$(…)` stay unexpanded. */
export interface ShellWords {
  readonly words: readonly string[];
  /** The expansions that the shell would have made. */
  readonly expansions: readonly string[];
}

/** Matches the gap between words. A backslash at the end of a line joins it to the next line. */
const GAP = /(?:[^\S\n]|\\\r?\n)*/y;
/**
 * Matches a part of a word: '…', $'…', "…", a backslash with its character, or plain text. A closing quote may be
 * missing.
 */
const PART =
  /'(?<single>[^']*)(?:'|$)|\$'(?<ansi>(?:\\[^]|[^'\\])*)(?:'|$)|"(?<double>(?:\\[^]|\$\([^)]*\)|[^"\\])*)(?:"|$)|\\(?<escaped>[^])|(?<plain>(?:\$\([^)]*\)|(?!\$')[^\s|;&<>'"\\])+)/y;
const EXPANSION = /(?<!\\)\$(?:\{[^}]*\}|\([^)]*\)|\w+)/g;
const ANSI_ESCAPE = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([^]))/g;
const ANSI_LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v" };

/** Splits the first command of a text into words. */
export function shellWords(text: string): ShellWords {
  const words: string[] = [];
  const expansions: string[] = [];
  for (let at = afterGap(text, 0); at < text.length; at = afterGap(text, at)) {
    const start = at;
    let word = "";
    for (let match = matchAt(PART, text, at); match; match = matchAt(PART, text, at)) {
      const { double, plain } = match.groups ?? {};
      word += partText(match.groups ?? {});
      expansions.push(...((double ?? plain ?? "").match(EXPANSION) ?? []));
      at += match[0].length;
    }
    // No word begins here: this is the end of the line, or an operator before another command.
    if (at === start) break;
    words.push(word);
  }
  return { words, expansions };
}

function afterGap(text: string, at: number): number {
  return at + (matchAt(GAP, text, at)?.[0].length ?? 0);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function partText({ single, ansi, double, escaped, plain }: Record<string, string | undefined>): string {
  if (ansi !== undefined) return ansi.replaceAll(ANSI_ESCAPE, unescaped);
  if (double !== undefined) return double.replaceAll(/\\(?:\r?\n|([$`"\\]))/g, "$1");
  return single ?? escaped ?? plain ?? "";
}

function unescaped(_: string, x?: string, u?: string, U?: string, letter = ""): string {
  const hex = x ?? u ?? U;
  return hex === undefined ? (ANSI_LETTERS[letter] ?? letter) : String.fromCodePoint(parseInt(hex, 16));
}
