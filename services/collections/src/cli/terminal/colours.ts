import { styleText } from "node:util";

/**
 * Matches the header of a table: cells of capital letters, with two blanks or more between them. A cell may end with a text
 * in parentheses, such as a time zone.
 */
const HEADER = /^[A-Z][A-Z _-]*(?:\([^()]*\))?(?: {2,}[A-Z][A-Z _-]*(?:\([^()]*\))?)+$/;
/** Matches a line that says how to go on. */
const ADVICE = /^(?:More|Next|Show more):? /;

const GOOD = ["active", "ok", "healthy", "delivered", "kept", "collected", "credited", "paid", "minted", "sent"];
const OPEN = ["waiting", "retrying", "on_hold", "pending", "requested", "running", "open", "due"];
const BAD = ["suspended", "failing", "parked", "failed", "broken", "blocked", "unavailable", "revoked", "undelivered"];

const COLOURS = new Map<string, "green" | "yellow" | "red">([
  ...GOOD.map((state) => [state, "green"] as const),
  ...OPEN.map((state) => [state, "yellow"] as const),
  ...BAD.map((state) => [state, "red"] as const),
]);

/** Matches a cell of a table that is a single word. */
const CELL = /(?<=^| {2})[a-z_]+(?= {2}|$)/g;

/**
 * Colours text for a person if `stream` is a terminal that shows colours: headers of tables are bold, states of cells are
 * green, yellow or red, and advice is dim. Follows NO_COLOR and FORCE_COLOR. The text must not contain control characters.
 */
export function coloured(text: string, stream: NodeJS.WriteStream): string {
  if (!showsColours(stream)) return text;
  return text
    .split("\n")
    .map((line, index, lines) => colouredLine(line, { isFirst: (lines[index - 1] ?? "") === "" }))
    .join("\n");
}

/** Returns text in red, if `stream` is a terminal that shows colours. */
export function red(text: string, stream: NodeJS.WriteStream): string {
  return showsColours(stream) ? styleText("red", text, { validateStream: false }) : text;
}

/** `styleText` itself decides whether a stream gets colours. */
function showsColours(stream: NodeJS.WriteStream): boolean {
  return styleText("bold", "x", { stream }) !== "x";
}

function colouredLine(line: string, { isFirst }: { readonly isFirst: boolean }): string {
  if (isFirst && HEADER.test(line)) return styleText("bold", line, { validateStream: false });
  if (ADVICE.test(line)) return styleText("dim", line, { validateStream: false });
  return line.replaceAll(CELL, (cell) => {
    const colour = COLOURS.get(cell);
    return colour === undefined ? cell : styleText(colour, cell, { validateStream: false });
  });
}
