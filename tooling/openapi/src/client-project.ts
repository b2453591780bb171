import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Ended, NO_NETWORK, packageFolder, ProgramError, runProgram } from "./program.ts";

const PROGRAMS = fileURLToPath(new URL("../programs/", import.meta.url));
const COMMANDS = fileURLToPath(new URL("../node_modules/.bin/", import.meta.url));
/** The packages that the sources of a project import. */
const PACKAGES = ["openapi-fetch", "@types/node"];
const OUTPUT_BYTES = 64 * 1024 * 1024;

const COMPILER_OPTIONS = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  noUncheckedIndexedAccess: true,
  rootDir: "src",
  outDir: "dist",
};

/** A project of a lender who generates a client, in a folder of its own outside this repository. */
export interface ClientProject {
  /** Writes a source, such as `codes.ts`. */
  write(name: string, text: string): Promise<void>;
  /**
   * Runs a command of a shell in the project's folder. `npx` runs the generators without a network.
   * @throws ProgramError if the command fails
   */
  sh(command: string, env?: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Checks the types of all sources, generated ones included, and writes JavaScript.
   * @throws ProgramError with what the compiler found
   */
  compile(): Promise<void>;
  /**
   * Runs a compiled source, such as `hey-api-calls`, and returns the JSON that it prints.
   * @throws ProgramError if the program fails
   */
  run(source: string, env: Readonly<Record<string, string>>): Promise<unknown>;
  /** Removes the folder. */
  remove(): Promise<void>;
}

/**
 * Creates a project with the programs that make every call of the API, and with the samples in a folder, which the
 * programs import. Generate the clients before you compile.
 */
export async function createClientProject(samples: string): Promise<ClientProject> {
  const folder = await mkdtemp(join(tmpdir(), "client-project-"));
  await cp(samples, join(folder, "src"), { recursive: true });
  await cp(PROGRAMS, join(folder, "src"), { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const config = { compilerOptions: COMPILER_OPTIONS, include: ["src"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  for (const name of PACKAGES) {
    const place = join(folder, "node_modules", name);
    await mkdir(dirname(place), { recursive: true });
    await symlink(packageFolder(name), place);
  }
  return {
    write: (name, text) => writeFile(join(folder, "src", name), text),
    async sh(command, env = {}) {
      const npx = `npx() { NODE_OPTIONS=--import=${NO_NETWORK.href} "$@"; }`;
      await ran(command, "bash", ["-euc", `${npx}\n${command}`], folder, env);
    },
    async compile() {
      const ended = await runProgram("typescript", "tsc", ["-p", "."], folder);
      if (ended.exitCode !== 0) throw new ProgramError("tsc", ended);
    },
    async run(source, env) {
      const { stdout } = await ran(source, process.execPath, [join("dist", `${source}.js`)], folder, env);
      return JSON.parse(stdout);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function ran(
  title: string,
  file: string,
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const path = [COMMANDS, dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const options = { cwd: folder, env: { ...process.env, PATH: path, ...env }, maxBuffer: OUTPUT_BYTES };
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const ended = { exitCode: error === null ? 0 : Number(error.code ?? 1), stdout, stderr };
      if (ended.exitCode === 0) resolve(ended);
      else reject(new ProgramError(title, ended));
    });
  });
}
