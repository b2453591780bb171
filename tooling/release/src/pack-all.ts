import { cp, mkdir, mkdtemp, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./command.ts";

/** The folder of the workspace. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The packed form of a package, as it would be published. */
export interface Tarball {
  readonly name: string;
  readonly version: string;
  /** The absolute path of the tarball. */
  readonly path: string;
  readonly bytes: number;
  /** The paths inside the package, sorted. */
  readonly files: readonly string[];
}

/**
 * Builds and packs every package under `packages/`, or those that a pnpm filter names, into a folder, as a release
 * does. It works in a copy of the sources, so that it does not touch a `dist` that other processes use or build at the
 * same time.
 */
export async function packAll(destination: string, filter = "./packages/*"): Promise<Tarball[]> {
  const tree = await mkdtemp(join(tmpdir(), "collections-release-"));
  try {
    await copySources(tree);
    await mkdir(destination, { recursive: true });
    const args = ["--recursive", "--filter", filter, "pack", "--json", "--pack-destination", destination];
    const { stdout } = await pnpm(["--config.verify-deps-before-run=false", ...args], tree);
    return await Promise.all(packedIn(stdout).map(asTarball));
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

async function copySources(tree: string): Promise<void> {
  const files = ["package.json", "pnpm-workspace.yaml", "pnpm-lock.yaml", "LICENSE"];
  for (const file of [...files, "tsconfig.base.json", "tsconfig.build.json"])
    await cp(join(ROOT, file), join(tree, file));
  const isSource = (path: string): boolean => basename(path) !== "dist";
  await cp(join(ROOT, "packages"), join(tree, "packages"), {
    recursive: true,
    verbatimSymlinks: true,
    filter: isSource,
  });
  for (const folder of ["node_modules", "tooling"]) await symlink(join(ROOT, folder), join(tree, folder));
}

/** Runs pnpm: the same pnpm that runs this process, or else the version that the project uses. */
export async function pnpm(args: string[], cwd: string): Promise<{ stdout: string }> {
  const itself = process.env["npm_execpath"] ?? "";
  if (/pnpm\.[cm]?js$/.test(itself)) return run(process.execPath, [itself, ...args], { cwd });
  if (/pnpm(?:\.\w+)?$/.test(itself)) return run(itself, args, { cwd });
  return run("npx", ["-y", "pnpm@12", ...args], { cwd });
}

interface Packed {
  name: string;
  version: string;
  filename: string;
  files: { path: string }[];
}

/** Parses pnpm's JSON, which may follow output of packages' scripts. For one package the JSON is not an array. */
function packedIn(output: string): Packed[] {
  return [JSON.parse(output.slice(output.search(/^[[{]/m))) as Packed | Packed[]].flat();
}

async function asTarball({ name, version, filename, files }: Packed): Promise<Tarball> {
  const { size } = await stat(filename);
  return { name, version, path: filename, bytes: size, files: files.map(({ path }) => path).toSorted() };
}
