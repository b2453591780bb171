import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../src/bundle.ts";

export const UNITS = ["collections-server", "collections-worker", "collections-migrate"] as const;
export type UnitName = (typeof UNITS)[number];

/** A program as systemd would start it. */
export interface UnitCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Returns the values of each directive of a unit file, such as `Environment`, in their order. */
export function readUnit(name: UnitName): ReadonlyMap<string, readonly string[]> {
  const unit = new Map<string, string[]>();
  for (const line of readFileSync(join(ROOT, `deploy/systemd/${name}.service`), "utf8").split("\n")) {
    const [, directive, value] = /^([A-Z]\w+)=(.*)$/.exec(line) ?? [];
    if (directive === undefined || value === undefined) continue;
    unit.set(directive, [...(unit.get(directive) ?? []), value]);
  }
  return unit;
}

/**
 * Returns the program that a unit starts, with the variables of `Environment` and then of each `EnvironmentFile`. Reads
 * and names all absolute paths below the folder `root` instead of `/`.
 */
export function unitCommand(name: UnitName, root: string): UnitCommand {
  const unit = readUnit(name);
  const [file = "", ...args] = unit
    .get("ExecStart")![0]!
    .split(" ")
    .map((word) => below(root, word));
  const given = unit.get("Environment")!.flatMap((line) => line.split(" "));
  const fromFiles = (unit.get("EnvironmentFile") ?? []).flatMap((path) => linesOf(path, root));
  const env = Object.fromEntries([...given, ...fromFiles].map((line) => assignment(line, root)));
  return { file, args, cwd: below(root, unit.get("WorkingDirectory")![0]!), env };
}

/** Returns the assignments of a file. A path that begins with a hyphen may be missing. */
function linesOf(path: string, root: string): string[] {
  const file = below(root, path.replace(/^-/, ""));
  if (path.startsWith("-") && !existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => /^[A-Z]\w*=./.test(line));
}

function assignment(line: string, root: string): [string, string] {
  const [name = "", ...value] = line.split("=");
  return [name, below(root, value.join("="))];
}

function below(root: string, word: string): string {
  return word.startsWith("/") ? join(root, word) : word;
}
