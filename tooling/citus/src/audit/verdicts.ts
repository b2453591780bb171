import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Statement } from "@collections/database";
import type { Outcome } from "./audit.ts";
import type { Placement } from "../lint/catalog.ts";
import { ROOT } from "../registry/root.ts";

/** A cluster's treatment of a statement in the audit. */
export interface Verdict {
  readonly name: string;
  /** The hash of the audited text. */
  readonly hash: string;
  readonly verdict: string;
}

/** The file with the recorded verdicts. The audit writes it with `--record`. */
export const VERDICTS_FILE = join(ROOT, "tooling/citus/verdicts.txt");

/** The command that renews the recorded verdicts. */
const RECORD_COMMAND = "pnpm citus:audit --record postgres://…@coordinator:5432/postgres";

export const NOT_SENT_VERDICT = "not sent on a cluster";

/** The verdict if a made-up value stopped the statement on the coordinator, so that its commands are unknown. */
export const STOPPED = "unknown, stopped on a made-up value";

const HEADER = `# What a cluster of Citus does with each statement: name, hash of the text, verdict.
# Written by: ${RECORD_COMMAND}
`;

const HASH_LENGTH = 12;

/**
 * Returns the verdict that follows from a statement's outcome. `shards` is the number of shards of each distributed
 * table.
 */
export function verdictOf(outcome: Outcome, placements: ReadonlySet<Placement>, shards: number): string {
  const { isRefused, failure, commands, nodes, copies, isPulled } = outcome;
  if (isRefused) return `refused ${failure!.sqlState}`;
  if (!placements.has("lender")) return placements.has("reference") ? "reference" : "local";
  if (failure && commands === 0) return STOPPED;
  const copied = copies > 0 || isPulled ? ", by COPY" : "";
  if (commands <= 1) return `routed${copied}`;
  if (commands >= shards && nodes > 1) return `all shards${copied}`;
  return `${commands} commands on ${nodes === 1 ? "one node" : `${nodes} nodes`}${copied}`;
}

/**
 * Returns a hash of a statement's text, whatever its spacing. It is short, but long enough to distinguish the texts
 * that one statement has had.
 */
export function hashOf(text: string): string {
  return createHash("sha256").update(text.replaceAll(/\s+/g, " ").trim()).digest("hex").slice(0, HASH_LENGTH);
}

/** Reads the recorded verdicts; none if the file does not exist. */
export async function readVerdicts(file = VERDICTS_FILE): Promise<Verdict[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [, name, hash, verdict] = /^(\S+) +(\S+) +(.+)$/.exec(line) ?? [];
    return name === undefined || name === "#" ? [] : [{ name, hash: hash!, verdict: verdict! }];
  });
}

/** Writes the verdicts, sorted by name. */
export async function writeVerdicts(verdicts: readonly Verdict[], file = VERDICTS_FILE): Promise<void> {
  const width = Math.max(...verdicts.map(({ name }) => name.length));
  const lines = verdicts
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, hash, verdict }) => `${name.padEnd(width)}  ${hash}  ${verdict}\n`);
  await writeFile(file, HEADER + lines.join(""));
}

/** Statements whose verdict is missing or is about another text, and verdicts on statements that no longer exist. */
export interface Outdated {
  readonly unjudged: readonly string[];
  readonly gone: readonly string[];
}

/** Finds the statements whose present text has no verdict, and the verdicts on statements that no longer exist. */
export function outdated(statements: readonly Statement[], verdicts: readonly Verdict[]): Outdated {
  const recorded = new Map(verdicts.map(({ name, hash }) => [name, hash]));
  const names = new Set(statements.map(({ name }) => name));
  return {
    unjudged: statements.filter(({ name, text }) => recorded.get(name) !== hashOf(text)).map(({ name }) => name),
    gone: verdicts.filter(({ name }) => !names.has(name)).map(({ name }) => name),
  };
}

/**
 * Returns a text that lists the outdated verdicts and names the command that renews them; "" if every verdict is
 * current.
 */
export function outdatedText({ unjudged, gone }: Outdated): string {
  const [one, many] = [
    "verdict is on a statement that no longer exists",
    "verdicts are on statements that no longer exist",
  ];
  const lines = [
    unjudged.length > 0 &&
      `${unjudged.length} ${unjudged.length === 1 ? "statement has" : "statements have"} no current verdict of a cluster: ${unjudged.join(", ")}.`,
    gone.length > 0 && `${gone.length} ${gone.length === 1 ? one : many}: ${gone.join(", ")}.`,
  ].filter((line) => line !== false);
  if (lines.length === 0) return "";
  return [...lines, `Renew the verdicts on a cluster of Citus: ${RECORD_COMMAND}`].join("\n");
}
