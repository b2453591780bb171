import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { fileURLToPath } from "node:url";

/** Settings by their names in the environment. */
export type Settings = Readonly<Record<string, string>>;

/** One process of the service, as an operator starts it. */
export interface ServiceProcess {
  readonly pid: number;
  readonly url: string;
  /** Resolves once it has ended, however that came. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  send(signal: NodeJS.Signals): void;
}

/** What a command printed and how it ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const MAIN = "services/collections/src/main.ts";
const CLI = "services/collections/src/cli/main.ts";
const FLAGS = ["--disable-warning=ExperimentalWarning"];
const LOG_TAIL = 2_000;

/** Nothing of ours outlives us, whatever ends this process short of kill -9. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts the service and resolves when it says that it is ready; its log is appended to a file. */
export async function startService(settings: Settings, logFile: string): Promise<ServiceProcess> {
  const child = run([MAIN], settings);
  let tail = "";
  const log = createWriteStream(logFile, { flags: "a" });
  child.stderr.pipe(log);
  child.stderr.on("data", (text: string) => (tail = (tail + text).slice(-LOG_TAIL)));
  const ended = once(child, "close").then(() => {});
  const url = await new Promise<string>((resolve, reject) => {
    let stdout = "";
    child.stdout.on("data", (text: string) => {
      stdout += text;
      const ready = /is ready at (\S+)\n/.exec(stdout)?.[1];
      if (ready !== undefined) resolve(ready);
    });
    void ended.then(() => reject(new Error(`The service ended before it was ready: ${tail}`)));
  });
  return {
    pid: child.pid!,
    url,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    send: (signal) => void child.kill(signal),
  };
}

/** A command under way, which may be killed. */
export interface Command {
  readonly done: Promise<CommandResult>;
  kill(): void;
}

/** Brings the schema up to date, as a release step does. */
export function startMigration(settings: Settings): Command {
  return command([MAIN, "migrate"], settings);
}

/** Runs a command of the operators' CLI. */
export function startOperator(settings: Settings, ...args: string[]): Command {
  return command([CLI, ...args], settings);
}

/** Runs a command of the operators' CLI that must succeed, and reads its document. */
export async function operator(settings: Settings, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await startOperator(settings, ...args, "--json").done;
  if (code !== 0) throw new Error(`\`collections ${args.join(" ")}\` ended with ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

function command(args: string[], settings: Settings): Command {
  const child = run(args, settings);
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (text: string) => (output.stdout += text));
  child.stderr.on("data", (text: string) => (output.stderr += text));
  const done = once(child, "close").then(([code]) => ({ code: code as number | null, ...output }));
  return { done, kill: () => void child.kill("SIGKILL") };
}

/** Nothing of this process's environment reaches it but what finds programs. */
function run(args: string[], settings: Settings) {
  const env = { PATH: process.env["PATH"], ...settings };
  const child = spawn(process.execPath, [...FLAGS, ...args], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.setEncoding("utf8");
  child.stderr.setEncoding("utf8");
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}
