import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SHIMS = fileURLToPath(new URL("../../shims", import.meta.url));

/** The reason why this machine cannot use a shim, or undefined. */
export function shimUnavailable(): string | undefined {
  if (process.platform !== "linux") return "preloaded libraries need Linux";
  const { status } = spawnSync("cc", ["--version"], { stdio: "ignore" });
  return status === 0 ? undefined : "there is no C compiler; on Debian: apt-get install gcc libc6-dev";
}

/** Compiles a library of `shims` into the folder; returns its path for LD_PRELOAD. */
export function makeShim(name: "clock" | "disk", folder: string): string {
  const library = join(folder, `${name}.so`);
  const args = ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, join(SHIMS, `${name}.c`), "-ldl"];
  const { status, stderr } = spawnSync("cc", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`The shim ${name} does not compile: ${stderr}`);
  return library;
}
