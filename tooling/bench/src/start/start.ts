import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import type { BenchServer } from "../server/bench-server.ts";
import { fillBooks } from "../books/books.ts";
import { type CommandCost, commandLines, commandsText, measureCommands } from "./commands.ts";
import { startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { ConfirmLoad } from "../load/confirm-load.ts";
import { type Line, ratioLine } from "../figures/line.ts";
import { residentMemoryMb } from "../figures/peak-memory.ts";
import type { StartPlan } from "../plan.ts";
import { type Service, startProcess, startService } from "../server/service.ts";
import { type InstalledPackage, measureInstalled } from "./installed-packages.ts";
import { type ImportCost, measureImports } from "./package-imports.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { milliseconds, ratioText, table, whole } from "../figures/text-table.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";
import { builtService } from "@collections/bundle";

/**
 * How a server process starts on a migrated database: its memory, and the time from exec to the first "ready" answer.
 */
export interface StartReport {
  readonly serviceMs: Spread;
  readonly bareMs: Spread;
  readonly startRatio: Spread;
  /**
   * The resident memory of the idle service. All figures of memory are undefined if the system does not report memory.
   */
  readonly idleMb: Spread | undefined;
  readonly bareMb: Spread | undefined;
  readonly idleRatio: Spread | undefined;
  /** The memory after a load of the planned duration and a short rest. */
  readonly loadedMb: number | undefined;
  readonly confirmations: number;
  readonly imports: readonly ImportCost[];
  readonly installed: readonly InstalledPackage[];
  /** The first is the minimal process that the commands are compared with. */
  readonly commands: readonly CommandCost[];
}

export interface StartBench {
  readonly plan: StartPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

interface Started {
  readonly readyMs: number;
  readonly residentMb: number | undefined;
}

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const BUILD = "tooling/bundle/src/main.ts";
const BARE = "tooling/bench/src/start/bare-server.mjs";
const LOANS = { lenderCodes: ["START"], perLender: 1_000 };
/** How long a started process rests, so that it can do the work that its start postponed, and collect garbage. */
const REST_MS = 2_000;

/**
 * Measures how fast the service starts and how much memory it needs. Starts the service and a minimal process (Express
 * and `pg`) in turn, for comparison. Then loads the service for a while, and measures commands and imports.
 */
export async function measureStart({ plan, server, onProgress }: StartBench): Promise<StartReport> {
  onProgress("bundling the present sources");
  execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", BUILD], { cwd: ROOT });
  onProgress("filling the database");
  const databaseUrl = await server.createDatabase("started");
  const books = await fillBooks(databaseUrl, [{ loans: LOANS, options: [] }]);
  const round = async () => ({
    bare: await started(() => startProcess(BARE, { databaseUrl })),
    service: await started(() => startService({ databaseUrl, role: "server" })),
  });
  onProgress("starting");
  await round();
  const pids = [process.pid, server.pid];
  const watched = await leastDisturbed(plan.rounds, pids, round);
  const rounds = watched.map((one) => one.round);
  onProgress(`confirming for ${plan.loadMs / 1_000} s`);
  const loaded = await underLoad(plan, databaseUrl, books.keys);
  onProgress("running commands");
  const bundle = builtService().cli;
  const commands = await measureCommands(databaseUrl, { bundle, rounds: plan.rounds, pids });
  onProgress("importing each package");
  const imports = await measureImports(plan.rounds);
  onProgress("installing the ledger and the webhooks alone");
  const installed = await measureInstalled(plan.rounds);
  return {
    imports,
    installed,
    commands,
    serviceMs: spreadOf(rounds.map(({ service }) => service.readyMs)),
    bareMs: spreadOf(rounds.map(({ bare }) => bare.readyMs)),
    startRatio: spreadOf(rounds.map(({ service, bare }) => service.readyMs / bare.readyMs)),
    idleMb: known(rounds.map(({ service }) => service.residentMb)),
    bareMb: known(rounds.map(({ bare }) => bare.residentMb)),
    idleRatio: known(
      rounds.map(({ service, bare }) => service.residentMb && bare.residentMb && service.residentMb / bare.residentMb),
    ),
    ...loaded,
  };
}

async function started(start: () => Promise<Service>): Promise<Started> {
  const startedAt = performance.now();
  const service = await start();
  const { status } = await fetch(new URL("/readyz", service.url));
  if (status !== 200) throw new Error(`A process reported that it is ready, but answered ${status}.`);
  const readyMs = performance.now() - startedAt;
  await delay(REST_MS);
  const residentMb = residentMemoryMb(service.pid);
  await service.stop();
  return { readyMs, residentMb };
}

async function underLoad({ clients, loadMs }: StartPlan, databaseUrl: string, keys: ConfirmLoad["keys"]) {
  const service = await startService({ databaseUrl, role: "server" });
  const http = startChild(new URL("../load/confirm-load.ts", import.meta.url));
  const extent = { durationMs: loadMs };
  const load: ConfirmLoad = { serviceUrls: [service.url], keys, loans: LOANS, series: "start", clients, extent };
  const { completed } = await http.ask<LoadResult>(load);
  await delay(REST_MS);
  const loadedMb = residentMemoryMb(service.pid);
  await Promise.all([http.stop(), service.stop()]);
  return { loadedMb, confirmations: completed };
}

function known(values: readonly (number | undefined)[]): Spread | undefined {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : spreadOf(numbers);
}

/** The report as a table. */
export function startText({ rounds, loadMs }: StartPlan, report: StartReport): string {
  const { serviceMs, bareMs, startRatio, idleMb, bareMb, idleRatio, loadedMb, confirmations } = report;
  const after = `resident MB after ${loadMs / 1_000} s and ${whole(confirmations)} confirmations`;
  return [
    `A server process, compared with a minimal process of Express and pg; ${rounds} rounds in turn`,
    table(
      "figure,service,bare,ratio",
      [
        ["exec to ready, ms", milliseconds(serviceMs), milliseconds(bareMs), ratioText(startRatio)],
        ["resident MB, idle", ...[idleMb, bareMb, idleRatio].map((spread) => (spread ? ratioText(spread) : ""))],
        [after, loadedMb === undefined ? "" : whole(loadedMb), "", ""],
      ],
      "left",
    ),
    "",
    commandsText(rounds, report.commands),
    "",
    `Importing a package from its sources in a new process, compared with importing pg; ${rounds} rounds in turn`,
    table(
      "package,ms,÷ pg,resident MB",
      report.imports.map(({ name, ms, mb, ratio }) => [name, milliseconds(ms), ratioText(ratio), milliseconds(mb)]),
      "left",
    ),
    "",
    `Packages that a host installs alone from tarballs, beyond pg with all that it needs; ${rounds} imports in turn with pg`,
    table(
      "package,packages,MB,import ms",
      report.installed.map(({ name, packages, mb, msBeyondPg }) => [
        name,
        whole(packages),
        mb.toFixed(1),
        milliseconds(msBeyondPg),
      ]),
      "left",
    ),
  ].join("\n");
}

/** Returns the report's lines: the service's start and memory, compared with a minimal process of Express and `pg`. */
export function startLines({ rounds, loadMs }: StartPlan, report: StartReport): Line[] {
  const { serviceMs, bareMs, startRatio, idleMb, bareMb, idleRatio, loadedMb, confirmations } = report;
  const ready = { figure: "exec to ready", ours: `${whole(serviceMs.median)} ms` };
  const beside = (figure: string) => `bare node, Express and pg: ${figure}`;
  const lines = [ratioLine({ ...ready, beside: beside(`${whole(bareMs.median)} ms`), ratio: startRatio, rounds })];
  const commands = commandLines(rounds, report.commands);
  if (!idleMb || !bareMb || !idleRatio || loadedMb === undefined) return [...lines, ...commands];
  const idle = { figure: "resident memory, idle", ours: `${whole(idleMb.median)} MB` };
  const loaded = loadedMb / idleMb.median;
  return [
    ...lines,
    ratioLine({ ...idle, beside: beside(`${whole(bareMb.median)} MB`), ratio: idleRatio, rounds }),
    {
      figure: `resident memory after ${loadMs / 1_000} s of load`,
      ours: `${whole(loadedMb)} MB`,
      beside: `idle, before ${whole(confirmations)} confirmations`,
      ratio: loaded.toFixed(2),
      rounds: 1,
    },
    ...commands,
  ];
}
