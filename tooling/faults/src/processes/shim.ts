import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SHIMS = fileURLToPath(new URL("../../shims", import.meta.url));

/** Why no shim can be made here; undefined when one can. */
export function whyNoShim(): string | undefined {
  if (process.platform !== "linux") return "preloaded libraries need Linux";
  const { status } = spawnSync("cc", ["--version"], { stdio: "ignore" });
  return status === 0 ? undefined : "there is no C compiler; on Debian: apt-get install gcc libc6-dev";
}

/** Compiles a library of `shims` into the folder; returns the path that LD_PRELOAD takes. */
export function makeShim(name: "clock" | "disk", folder: string): string {
  const library = join(folder, `${name}.so`);
  const args = ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, join(SHIMS, `${name}.c`), "-ldl"];
  const { status, stderr } = spawnSync("cc", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`The shim ${name} does not compile: ${stderr}`);
  return library;
}
