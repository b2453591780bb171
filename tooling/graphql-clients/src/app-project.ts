import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../node_modules", import.meta.url));
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** A project of an app developer who generates a client, in a folder of its own outside this repository. */
export interface AppProject {
  /** Writes a file, such as `src/main.ts`. */
  write(path: string, text: string): Promise<void>;
  /** Reads a file, such as a manifest that a generator has written. */
  read(path: string): Promise<string>;
  /** Returns the full path of a file of the project. */
  path(path: string): string;
  /**
   * Runs commands of a shell in the project's folder, and returns what they print. `npm install` does not download: it
   * checks that this repository has the same version of each package. `npx` runs these packages.
   *
   * @param onOutput called with each part of the output as soon as it is printed
   * @throws CommandError if a command fails
   */
  sh(commands: string, env?: Readonly<Record<string, string>>, onOutput?: (printed: string) => void): Promise<string>;
  /** Removes the folder. */
  remove(): Promise<void>;
}

/** A command of a project failed; `output` has what it wrote. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code = "COMMAND_FAILED";
  readonly output: string;

  constructor(commands: string, output: string) {
    super(`These commands failed:\n${commands}\nTheir output:\n${output}`);
    this.output = output;
  }
}

/** Creates a project without files. It has the packages that the manifest of this package names. */
export async function createAppProject(): Promise<AppProject> {
  const folder = await mkdtemp(join(tmpdir(), "app-project-"));
  await symlink(PACKAGES, join(folder, "node_modules"));
  return {
    async write(path, text) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
    read: (path) => readFile(join(folder, path), "utf8"),
    path: (path) => join(folder, path),
    async sh(commands, env = {}, onOutput) {
      const missing = packagesIn(commands).filter((wanted) => !isInstalled(wanted));
      if (missing.length > 0) {
        throw new CommandError(commands, `Add to tooling/graphql-clients/package.json: ${missing.join(", ")}`);
      }
      return run(commands, { cwd: folder, env, onOutput });
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Returns the packages of all `npm install` commands, such as `graphql@17.1.0`. */
function packagesIn(commands: string): string[] {
  const installs = commands.replaceAll("\\\n", " ").matchAll(/^npm install (.*)$/gm);
  return [...installs].flatMap(([, words]) => words!.split(" ").filter((word) => word !== "" && !word.startsWith("-")));
}

function isInstalled(wanted: string): boolean {
  const at = wanted.lastIndexOf("@");
  if (at <= 0) return false;
  try {
    const manifest = readFileSync(join(PACKAGES, wanted.slice(0, at), "package.json"), "utf8");
    return (JSON.parse(manifest) as { version: string }).version === wanted.slice(at + 1);
  } catch {
    return false;
  }
}

interface Run {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly onOutput: ((printed: string) => void) | undefined;
}

function run(commands: string, { cwd, env, onOutput }: Run): Promise<string> {
  // The packages are in the project already, and `npm pkg set` works without a network.
  const functions = 'npm() { [ "$1" = install ] || command npm "$@"; }\nnpx() { "$@"; }';
  const path = [join(PACKAGES, ".bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const options = { cwd, env: { ...process.env, NO_COLOR: "1", ...env, PATH: path }, maxBuffer: OUTPUT_BYTES };
  return new Promise((resolve, reject) => {
    const child = execFile("bash", ["-euc", `${functions}\n${commands}`], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new CommandError(commands, stdout + stderr));
    });
    if (onOutput) child.stdout!.on("data", onOutput);
  });
}
