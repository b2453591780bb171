import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether a program of this name is in the PATH of this process. */
export function hasProgram(name: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));
}
