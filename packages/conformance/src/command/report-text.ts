import type { CheckResult, Verdict } from "../checks/check.ts";

const INDENT = " ".repeat(9);
const LABEL_WIDTH = 11;

/**
 * Returns the result of one check as text: the verdict, the requests and the answers. Unless the check passed, the text
 * also has the problem, its fix and the reason why it matters.
 */
export function resultAsText(result: CheckResult, { width, colours }: { width: number; colours: boolean }): string {
  const { verdict, name, title, skipped } = result;
  const head = `${paint(verdict, colours)}${" ".repeat(INDENT.length - verdict.length)}${name} · ${skipped ?? title}`;
  return [head, ...detailsOf(result).map(([label, text]) => labelled(label, text, width)), ""].join("\n");
}

function detailsOf({ verdict, sent, cameBack, why, findings }: CheckResult): [string, string][] {
  const exchanged: [string, string][] =
    sent === ""
      ? []
      : [
          ["sent", sent],
          ["came back", cameBack],
        ];
  if (verdict === "PASS" || verdict === "SKIPPED") return exchanged;
  const faults = findings.flatMap(({ problem, mend }): [string, string][] => [
    ["problem", problem],
    ["fix", mend],
  ]);
  return [...exchanged, ...withoutRepeats(faults), ["why", why]];
}

/** Removes repeated lines: several requests of a check often fail for the same reason. */
function withoutRepeats(lines: [string, string][]): [string, string][] {
  const last = new Map(lines.map(([label, text], index) => [`${label}${text}`, index]));
  return lines.filter(([label, text], index) => last.get(`${label}${text}`) === index);
}

function labelled(label: string, text: string, width: number): string {
  const margin = INDENT.length + LABEL_WIDTH;
  const lines = wrapped(text, Math.max(30, width - margin));
  return `${INDENT}${label.padEnd(LABEL_WIDTH)}${lines.join(`\n${" ".repeat(margin)}`)}`;
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const COLOURS: Readonly<Record<Verdict, number>> = { PASS: 32, FAIL: 31, WARN: 33, SKIPPED: 90 };

function paint(verdict: Verdict, colours: boolean): string {
  return colours ? `\u001b[${COLOURS[verdict]}m${verdict}\u001b[0m` : verdict;
}
