import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { peakMemoryMb } from "../figures/peak-memory.ts";

/** One process of the service. */
export interface Service {
  readonly pid: number;
  readonly url: string;
  /** The value of a metric. */
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

export interface ServiceSettings {
  readonly databaseUrl: string;
  readonly role: "server" | "worker";
  /** The database URL for connections that need a session of their own; default: `databaseUrl`. */
  readonly directUrl?: string;
  /** Further settings by their environment names. */
  readonly env?: NodeJS.ProcessEnv;
}

export const MASTER_KEY = "0123456789abcdef".repeat(4);

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
// The programs behind `pnpm start` and `pnpm collections`.
const MAIN = "services/collections/bin/service.mjs";
const CLI = "services/collections/bin/collections.mjs";
const FLAGS = ["--disable-warning=ExperimentalWarning"];

const run = promisify(execFile);

/** Starts the service as an operator would; resolves when it reports that it is ready. */
export async function startService({ databaseUrl, role, directUrl, env }: ServiceSettings): Promise<Service> {
  return startProcess(MAIN, {
    databaseUrl,
    env: { ROLE: role, ...(directUrl && { DATABASE_DIRECT_URL: directUrl }), ...env },
  });
}

/** Starts a file of the project that prints its URL on standard output when it is ready. */
export async function startProcess(
  file: string,
  { databaseUrl, env }: { readonly databaseUrl: string; readonly env?: NodeJS.ProcessEnv },
): Promise<Service> {
  const child = spawn(process.execPath, [...FLAGS, file], {
    cwd: ROOT,
    env: { ...environment(databaseUrl), ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  void exited.then(() => process.off("exit", kill));
  const url = await Promise.race([
    readyUrl(child.stdout),
    exited.then(() => {
      throw new Error(`${file} ended before it was ready; see its log above.`);
    }),
  ]);
  return {
    pid: child.pid!,
    url,
    async metric(name) {
      const text = await (await fetch(new URL("/metrics", url))).text();
      const value = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
      if (value === undefined) throw new Error(`The service has no metric ${name}.`);
      return Number(value);
    },
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** Runs an operator's command and returns its JSON document. */
export async function operator(databaseUrl: string, ...command: string[]): Promise<Record<string, unknown>> {
  const args = [...FLAGS, CLI, ...command, "--json"];
  const { stdout } = await run(process.execPath, args, { cwd: ROOT, env: environment(databaseUrl) });
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** How often the memory of a command is read while it runs. */
const MEMORY_EVERY_MS = 20;

/**
 * Runs an operator's command, and measures its duration and its peak memory. The memory is undefined if the system does
 * not report it.
 */
export async function measuredOperator(
  databaseUrl: string,
  ...command: string[]
): Promise<{ answer: Record<string, unknown>; elapsedMs: number; peakMemoryMb: number | undefined }> {
  const startedAt = performance.now();
  const args = [...FLAGS, CLI, ...command, "--json"];
  const running = run(process.execPath, args, { cwd: ROOT, env: environment(databaseUrl) });
  let peak: number | undefined;
  const watch = setInterval(() => {
    // Once the process has ended, its file in /proc is gone or has no peak.
    try {
      peak = peakMemoryMb(running.child.pid!) ?? peak;
    } catch {
      clearInterval(watch);
    }
  }, MEMORY_EVERY_MS);
  const { stdout } = await running.finally(() => clearInterval(watch));
  const answer = JSON.parse(stdout) as Record<string, unknown>;
  return { answer, elapsedMs: performance.now() - startedAt, peakMemoryMb: peak };
}

/** Returns the environment of a process of the service or of a command. */
export function environment(databaseUrl: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    // Passes NODE_OPTIONS on to the service, so that it can be profiled: NODE_OPTIONS="--cpu-prof --cpu-prof-dir=…"
    // pnpm bench
    NODE_OPTIONS: process.env["NODE_OPTIONS"],
    DATABASE_URL: databaseUrl,
    MASTER_KEY,
    PORT: "0",
    LOG_LEVEL: "warn",
    RATE_LIMITS: "off",
    OUTBOUND_ALLOW: "127.0.0.1:*",
  };
}

async function readyUrl(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const url = / is ready at (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    stdout.resume();
    return url;
  }
  return new Promise(() => {});
}
