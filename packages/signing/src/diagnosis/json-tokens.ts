const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[-\d][\d.eE+-]*|[a-z]+|[{}[\],:]/g;
const MAX_DEPTH = 100;

/** The layout of a JSON serialiser: its comma, its colon, and its indentation if it has any. */
export interface JsonLayout {
  readonly comma: string;
  readonly colon: string;
  readonly indent?: string;
}

/** The layout without white space, as JavaScript, PHP and Go write it. */
export const COMPACT: JsonLayout = { comma: ",", colon: ":" };

/** The tokens of a JSON text without white space. Numbers and strings keep their original spelling. */
export type JsonTokens = readonly string[];

/** Parses the tokens of a JSON text. Returns undefined if it is not JSON, or is nested too deeply for a real request. */
export function jsonTokens(text: string): JsonTokens | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const tokens = text.match(TOKEN) ?? [];
  return deepest(tokens) <= MAX_DEPTH ? tokens : undefined;
}

/** Serialises the tokens in a layout. */
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

/** Sorts the keys of all objects, or with `deep` false only those of the outermost object. */
export function withSortedKeys(tokens: JsonTokens, deep: boolean): JsonTokens {
  return readValue(tokens, 0, deep ? Infinity : 1).tokens;
}

/** Writes the numbers and strings as JavaScript does: `2500` for `2500.0`, `/` for `\/`. */
export function asJavaScriptWrites(tokens: JsonTokens): JsonTokens {
  return tokens.map((token) => (/^["\d-]/.test(token) ? JSON.stringify(JSON.parse(token)) : token));
}

/** Writes the numbers of a JSON text as JavaScript does, and changes nothing else. */
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
