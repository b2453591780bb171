const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[-\d][\d.eE+-]*|[a-z]+|[{}[\],:]/g;
const MAX_DEPTH = 100;

/** How a serialiser lays JSON out: what it writes as comma and colon, and by what it indents lines, if it does. */
export interface JsonLayout {
  readonly comma: string;
  readonly colon: string;
  readonly indent?: string;
}

/** Without any white space, as JavaScript, PHP and Go write it. */
export const COMPACT: JsonLayout = { comma: ",", colon: ":" };

/** A JSON text as it was written, without its white space: every number and string keeps its own spelling. */
export type JsonTokens = readonly string[];

/** The tokens of a JSON text; undefined for what is no JSON, or is nested too deep to be anybody's request. */
export function jsonTokens(text: string): JsonTokens | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const tokens = text.match(TOKEN) ?? [];
  return deepest(tokens) <= MAX_DEPTH ? tokens : undefined;
}

/** The text that a serialiser with this layout makes of the tokens. */
export function jsonText(tokens: JsonTokens, { comma, colon, indent }: JsonLayout): string {
  let [text, depth] = ["", 0];
  for (const [index, token] of tokens.entries()) {
    const isEmpty = isClosing(tokens[index + 1]);
    if (isClosing(token)) depth -= 1;
    if (isClosing(token) && !isOpening(tokens[index - 1])) text += lineStart();
    if (token === ":") text += colon;
    else if (token === ",") text += comma + lineStart();
    else text += token;
    if (isOpening(token)) depth += 1;
    if (isOpening(token) && !isEmpty) text += lineStart();
  }
  return text;

  function lineStart(): string {
    return indent === undefined ? "" : `\n${indent.repeat(depth)}`;
  }
}

/** The tokens with every object's keys in order; with `deep` false, those of the outermost object only. */
export function withSortedKeys(tokens: JsonTokens, deep: boolean): JsonTokens {
  return readValue(tokens, 0, deep ? Infinity : 1).tokens;
}

/** The tokens with numbers and strings as JavaScript writes them: `2500` for `2500.0`, `/` for `\/`. */
export function asJavaScriptWrites(tokens: JsonTokens): JsonTokens {
  return tokens.map((token) => (/^["\d-]/.test(token) ? JSON.stringify(JSON.parse(token)) : token));
}

/** The JSON text with its numbers as JavaScript writes them, and all else untouched. */
export function withNumbersRewritten(text: string): string {
  return text.replaceAll(TOKEN, (token) => (/^[\d-]/.test(token) ? JSON.stringify(Number(token)) : token));
}

function readValue(tokens: JsonTokens, start: number, levels: number): { tokens: string[]; end: number } {
  const opening = tokens[start] as string;
  if (!isOpening(opening)) return { tokens: [opening], end: start + 1 };
  const members: { key: string; tokens: string[] }[] = [];
  let at = start + 1;
  while (!isClosing(tokens[at])) {
    if (tokens[at] === ",") at += 1;
    const key = opening === "{" ? (tokens[at] as string) : undefined;
    const value = readValue(tokens, key === undefined ? at : at + 2, levels - 1);
    members.push({ key: key ?? "", tokens: key === undefined ? value.tokens : [key, ":", ...value.tokens] });
    at = value.end;
  }
  const ordered = opening === "{" && levels > 0 ? members.toSorted(byKey) : members;
  const inside = ordered.flatMap((member, index) => (index === 0 ? member.tokens : [",", ...member.tokens]));
  return { tokens: [opening, ...inside, tokens[at] as string], end: at + 1 };
}

function byKey(one: { key: string }, other: { key: string }): number {
  const [a, b] = [JSON.parse(one.key) as string, JSON.parse(other.key) as string];
  return a < b ? -1 : Number(a > b);
}

function deepest(tokens: JsonTokens): number {
  let [depth, deepestSeen] = [0, 0];
  for (const token of tokens) {
    if (isOpening(token)) depth += 1;
    if (isClosing(token)) depth -= 1;
    deepestSeen = Math.max(deepestSeen, depth);
  }
  return deepestSeen;
}

function isOpening(token: string | undefined): boolean {
  return token === "{" || token === "[";
}

function isClosing(token: string | undefined): boolean {
  return token === "}" || token === "]";
}
