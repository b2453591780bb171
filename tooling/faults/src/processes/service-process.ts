import { builtService } from "@collections/bundle";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { fileURLToPath } from "node:url";

/** Settings of a process, by the names of their environment variables. */
export type Settings = Readonly<Record<string, string>>;

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One process of the service. It runs the bundle of the present source code, as `pnpm build` makes it. */
export interface ServiceProcess {
  readonly pid: number;
  readonly url: string;
  /** Returns what the process has written to stderr; only the last part if the process has a log file. */
  log(): string;
  readonly ended: Promise<Ending>;
  hasEnded(): boolean;
  send(signal: NodeJS.Signals): void;
}

/** The output and the exit code of a command. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const FLAGS = ["--disable-warning=ExperimentalWarning"];
const LOG_TAIL = 2_000;

/** The processes are killed whenever this process ends, except by SIGKILL. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Kills all processes that this process has started, including those that are not ready yet. */
export async function killAllStarted(): Promise<void> {
  const ended = [...running].map((child) => endingOf(child));
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(ended);
}

export interface ServiceOptions {
  /** The log is appended to this file. */
  readonly logFile?: string;
  /**
   * The file to run instead of the bundle of the present source code, in order to start another version of the service.
   */
  readonly main?: string;
}

/** Starts the service; resolves when the service reports that it is ready. */
export async function startService(
  settings: Settings,
  { logFile, main = builtService().main }: ServiceOptions = {},
): Promise<ServiceProcess> {
  const child = run([main], settings);
  let log = "";
  if (logFile !== undefined) child.stderr.pipe(createWriteStream(logFile, { flags: "a" }));
  child.stderr.on("data", (text: string) => {
    log += text;
    if (logFile !== undefined) log = log.slice(-LOG_TAIL);
  });
  const ended = endingOf(child);
  const url = await new Promise<string>((resolve, reject) => {
    let stdout = "";
    child.stdout.on("data", (text: string) => {
      stdout += text;
      const ready = /is ready at (\S+)\n/.exec(stdout)?.[1];
      if (ready !== undefined) resolve(ready);
    });
    void ended.then(({ code, signal }) =>
      reject(new Error(`The service ended with ${code ?? signal} before it was ready: ${log.slice(-LOG_TAIL)}`)),
    );
  });
  return {
    pid: child.pid!,
    url,
    log: () => log,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    send: (signal) => void child.kill(signal),
  };
}

/** A running command, which can be killed. */
export interface Command {
  readonly done: Promise<CommandResult>;
  kill(): void;
}

/** Starts the migration of the schema, as a release step does. */
export function startMigration(settings: Settings): Command {
  return startMain(settings, "migrate");
}

/**
 * Starts the service's main program and does not wait until the service is ready. Use it to start the program with
 * arguments, or if the service is expected to end by itself.
 */
export function startMain(settings: Settings, ...args: string[]): Command {
  return command([builtService().main, ...args], settings);
}

/** Starts a command of the operators' CLI. */
export function startOperator(settings: Settings, ...args: string[]): Command {
  return command([builtService().cli, ...args], settings);
}

/** Runs a command of the operators' CLI that must succeed, and returns its JSON document. */
export async function operator(settings: Settings, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await startOperator(settings, ...args, "--json").done;
  if (code !== 0)
    throw new Error(`\`collections ${args.join(" ")}\` failed with exit code ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

function command(args: string[], settings: Settings): Command {
  const child = run(args, settings);
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (text: string) => (output.stdout += text));
  child.stderr.on("data", (text: string) => (output.stderr += text));
  const done = endingOf(child).then(({ code }) => ({ code, ...output }));
  return { done, kill: () => void child.kill("SIGKILL") };
}

/** Starts Node. Only PATH is inherited from this process's environment. */
function run(args: string[], settings: Settings) {
  const env = { PATH: process.env["PATH"], ...settings };
  const child = spawn(process.execPath, [...FLAGS, ...args], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.setEncoding("utf8");
  child.stderr.setEncoding("utf8");
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}

async function endingOf(child: ChildProcess): Promise<Ending> {
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal };
}
