import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Line, ratioLine } from "../figures/line.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { milliseconds, ratioText, table, whole } from "../figures/text-table.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";
import { environment } from "../server/service.ts";

/** The cost of one run of a command. */
export interface CommandCost {
  /** The name of the program and the command's arguments. */
  readonly name: string;
  /** From exec to exit. */
  readonly ms: Spread;
  /** The ratio of the duration to that of the minimal process in the same round. */
  readonly ratio: Spread;
  /** User and system time of the process. */
  readonly processorMs: Spread;
  readonly processorRatio: Spread;
  readonly peakMb: Spread;
}

interface Run {
  readonly ms: number;
  readonly processorMs: number;
  readonly peakMb: number;
}

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const BARE = "tooling/bench/src/start/bare-query.mjs";
const USAGE_AT_EXIT = fileURLToPath(new URL("usage-at-exit.cjs", import.meta.url));

/** The measured commands: cheap ones, because their duration is mostly that of the start. */
const COMMANDS = [["lender", "list", "--json"], ["find", "START-1", "--json"], ["today", "--json"], ["--help"]];

/**
 * Measures commands on a migrated database. Runs a minimal process that connects and queries once, and then each command
 * with each program, `rounds` times, after two rounds that fill Node's caches.
 *
 * @param bundle the bundled command line
 * @param pids the benchmark's own processes
 */
export async function measureCommands(
  databaseUrl: string,
  { bundle, rounds, pids }: { bundle: string; rounds: number; pids: readonly number[] },
): Promise<CommandCost[]> {
  const programs = { "pnpm collections": collectionsScript(), "the bundle": [bundle] };
  const subjects = Object.entries(programs).flatMap(([program, start]) =>
    COMMANDS.map((command) => ({ name: `${program} ${command.join(" ")}`, args: [...start, ...command] })),
  );
  const round = async () => {
    const bare = await run(databaseUrl, [BARE]);
    const runs: Run[] = [];
    for (const { args } of subjects) runs.push(await run(databaseUrl, args));
    return { bare, runs };
  };
  await round();
  await round();
  const watched = await leastDisturbed(rounds, pids, round);
  const costs = (pick: (round: { bare: Run; runs: Run[] }) => { run: Run; bare: Run }, name: string): CommandCost => {
    const pairs = watched.map((one) => pick(one.round));
    return {
      name,
      ms: spreadOf(pairs.map(({ run }) => run.ms)),
      ratio: spreadOf(pairs.map(({ run, bare }) => run.ms / bare.ms)),
      processorMs: spreadOf(pairs.map(({ run }) => run.processorMs)),
      processorRatio: spreadOf(pairs.map(({ run, bare }) => run.processorMs / bare.processorMs)),
      peakMb: spreadOf(pairs.map(({ run }) => run.peakMb)),
    };
  };
  return [
    costs(({ bare }) => ({ run: bare, bare }), "bare node and pg: select 1"),
    ...subjects.map(({ name }, place) => costs(({ bare, runs }) => ({ run: runs[place]!, bare }), name)),
  ];
}

/** Returns the arguments with which `pnpm collections` starts Node. */
function collectionsScript(): string[] {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { scripts: Record<string, string> };
  return scripts["collections"]!.split(" ").slice(1);
}

async function run(databaseUrl: string, args: readonly string[]): Promise<Run> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ["--require", USAGE_AT_EXIT, ...args], {
    cwd: ROOT,
    env: environment(databaseUrl),
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const [usage, errors, [code]] = await Promise.all([
    text(child.stdio[3] as NodeJS.ReadableStream),
    text(child.stderr!),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  const ms = performance.now() - startedAt;
  if (code !== 0) throw new Error(`node ${args.join(" ")} exited with ${code}: ${errors}`);
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(usage) as NodeJS.ResourceUsage;
  return { ms, processorMs: (userCPUTime + systemCPUTime) / 1_000, peakMb: (maxRSS * 1_024) / 1e6 };
}

/** The commands as a table. */
export function commandsText(rounds: number, commands: readonly CommandCost[]): string {
  return [
    `Commands, compared with a minimal process that connects with pg and queries once; ${rounds} rounds in turn`,
    table(
      "command,ms,÷ bare,CPU ms,÷ bare,peak MB",
      commands.map(({ name, ms, ratio, processorMs, processorRatio, peakMb }) => [
        name,
        milliseconds(ms),
        ratioText(ratio),
        milliseconds(processorMs),
        ratioText(processorRatio),
        milliseconds(peakMb),
      ]),
      "left",
    ),
  ].join("\n");
}

/** Returns a line for each command of `pnpm collections`. */
export function commandLines(rounds: number, [bare, ...commands]: readonly CommandCost[]): Line[] {
  return commands
    .filter(({ name }) => name.startsWith("pnpm "))
    .map(({ name, ms, ratio }) =>
      ratioLine({
        figure: name,
        ours: `${whole(ms.median)} ms`,
        beside: `${bare!.name}: ${whole(bare!.ms.median)} ms`,
        ratio,
        rounds,
      }),
    );
}
