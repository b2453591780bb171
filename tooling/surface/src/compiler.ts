import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT, type WorkspacePackage } from "./workspace.ts";

const TYPES = join(ROOT, "node_modules/@types");
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** The compiler found errors; `output` lists them. */
export class CompilerError extends Error {
  readonly code = "COMPILER_FAILED";
  readonly output: string;

  constructor(output: string) {
    super(`tsc failed:\n${output}`);
    this.name = "CompilerError";
    this.output = output;
  }
}

/**
 * Calls `use` with a folder that has the declarations of every package, at `packages/<folder>/src/*.d.ts`, including
 * docstrings. The folder is removed afterwards.
 */
export function withDeclarations<Result>(
  packages: readonly WorkspacePackage[],
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  return withFolder(async (folder) => {
    const doors = packages.flatMap(({ folder, hasSchema }) => [
      join(ROOT, folder, "src/index.ts"),
      ...(hasSchema ? [join(ROOT, folder, "src/schema.ts")] : []),
    ]);
    const project = join(folder, "tsconfig.json");
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      // Do not check the types, because `pnpm types` does that. Only write the declarations, always in the same order.
      noCheck: true,
      singleThreaded: true,
      rootDir: ROOT,
      outDir: folder,
      typeRoots: [TYPES],
      paths: sourcePaths(packages),
    };
    await writeFile(
      project,
      JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files: doors }),
    );
    await compile(project);
    return use(folder);
  });
}

/**
 * Checks the types of files, given by their paths below the root, such as `packages/ledger/examples.ts`. Each file can
 * import what its package can import, and every package by its name.
 *
 * @throws CompilerError if a file has errors; `output` names the file by the given path
 */
export function checkFiles(packages: readonly WorkspacePackage[], files: ReadonlyMap<string, string>): Promise<void> {
  return withFolder(async (folder) => {
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    for (const packageFolder of new Set([...files.keys()].map((path) => dirname(path)))) {
      await mkdir(join(folder, packageFolder), { recursive: true });
      await symlink(join(ROOT, packageFolder, "node_modules"), join(folder, packageFolder, "node_modules"));
    }
    for (const [path, text] of files) await writeFile(join(folder, path), text);
    const compilerOptions = { noEmit: true, singleThreaded: true, typeRoots: [TYPES], paths: sourcePaths(packages) };
    const project = join(folder, "tsconfig.json");
    const checked = [...files.keys()].map((path) => join(folder, path));
    await writeFile(
      project,
      JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files: checked }),
    );
    await compile(project);
  });
}

/**
 * Maps our packages to their sources. The compiler would treat packages in node_modules as foreign code and write no
 * declarations for them.
 */
function sourcePaths(packages: readonly WorkspacePackage[]): Record<string, [string]> {
  return Object.fromEntries(
    packages.flatMap(({ name, folder }) => [
      [name, [join(ROOT, folder, "src/index.ts")]],
      [`${name}/schema`, [join(ROOT, folder, "src/schema.ts")]],
    ]),
  );
}

function compile(project: string): Promise<void> {
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  return new Promise((resolve, reject) => {
    execFile(tsc, ["-p", project], { cwd: ROOT, maxBuffer: OUTPUT_BYTES }, (error, stdout, stderr) => {
      if (error) reject(new CompilerError(stdout + stderr));
      else resolve();
    });
  });
}

async function withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "surface-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
