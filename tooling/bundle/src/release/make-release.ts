import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleInto, ROOT, SERVICE } from "../bundle.ts";
import { CHECKSUMS, checksumsOf, sha256 } from "./checksums.ts";
import { copiedFiles, copyFiles, SOURCE_PACKAGES } from "./contents.ts";
import { addLibraries, type Libraries } from "./libraries.ts";
import { packFolder } from "./pack-folder.ts";

/** The origin of a release: the content of its file `release.json`. */
export interface Origin {
  readonly version: string;
  /** The full git commit, or what `--commit` says. */
  readonly commit: string;
  /** Whether tracked files differed from that commit. Undefined without git. */
  readonly modified?: boolean;
}

/** A finished release. */
export interface MadeRelease extends Origin {
  /** The absolute path of the folder or the tarball. */
  readonly path: string;
  readonly files: number;
  /** The SHA-256 of the list of all files and their hashes. Two releases with the same content have the same value. */
  readonly sha256: string;
}

/** The release cannot be written to the requested place. */
export class PlaceTakenError extends Error {
  override readonly name = "PlaceTakenError";
  readonly code = "PLACE_TAKEN";
}

export interface ReleaseOptions {
  /** The absolute path of the folder, or of the tarball. */
  readonly path: string;
  /** Whether to pack the folder into a `.tar.gz`, which replaces it. */
  readonly tarball: boolean;
  readonly origin: Origin;
  /** The path of a new folder beside `path`, for the draft. If the process is interrupted, the caller removes it. */
  readonly draft: string;
}

/**
 * Makes a release. Writes a draft beside the final path, and renames the draft when it is complete. An interrupted run
 * therefore leaves nothing under the final path.
 *
 * @throws PlaceTakenError if the path is a file or a folder with content
 */
export async function makeRelease({ path, tarball, origin, draft }: ReleaseOptions): Promise<MadeRelease> {
  refuseTakenPlace(path);
  await mkdir(dirname(path), { recursive: true });
  await mkdir(draft);
  try {
    const folder = join(draft, `collections-${origin.version}`);
    await mkdir(folder);
    const checksums = await fill(folder, origin);
    await moveInto(path, tarball ? await packFolder(folder) : folder);
    return { ...origin, path, files: checksums.split("\n").length - 1, sha256: sha256(checksums) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Returns the version of the packages, and the commit of this checkout, which `commit` replaces. */
export async function readOrigin(commit?: string): Promise<Origin> {
  const { version } = JSON.parse(await readFile(join(SERVICE, "package.json"), "utf8")) as { version: string };
  if (commit !== undefined) return { version, commit };
  const modified = git("status", "--porcelain", "--untracked-files=no") !== "";
  return { version, commit: git("rev-parse", "HEAD"), modified };
}

function git(...args: string[]): string {
  try {
    return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  } catch (error) {
    throw new Error("git cannot read the commit of this tree. Name the commit: --commit HASH", { cause: error });
  }
}

function refuseTakenPlace(path: string): void {
  if (!existsSync(path)) return;
  if (isEmptyFolder(path)) return;
  throw new PlaceTakenError(`${path} exists and is not an empty folder. Remove it, or choose another path with --to.`);
}

function isEmptyFolder(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return false;
    throw error;
  }
}

/** Writes all files of a release. Returns the list of the files with their hashes. */
async function fill(folder: string, origin: Origin): Promise<string> {
  const { packages: external } = await bundleInto(folder);
  await copyFiles(ROOT, folder, copiedFiles(ROOT));
  await addAppScripts(folder);
  const libraries = await addLibraries(
    folder,
    ROOT,
    SERVICE,
    // The embedded PostgreSQL is for sandboxes of a checkout only.
    external.filter((name) => name !== "@collections/postgres"),
  );
  await writeJson(join(folder, "package.json"), manifestOf(origin, libraries, await nodeMajor()));
  await writeJson(join(folder, "release.json"), origin);
  const checksums = checksumsOf(folder);
  await writeFile(join(folder, CHECKSUMS), checksums);
  return checksums;
}

/** Bundles the scripts of the field partners' app into the release, which has no bundler. */
async function addAppScripts(release: string): Promise<void> {
  const path = SOURCE_PACKAGES["@collections/field-app"];
  // Imported by its path, like the modules of the service that are bundled: tooling depends on no site.
  const { writeScripts } = (await import(pathToFileURL(join(ROOT, path, "src/bundle.ts")).href)) as AppBundler;
  await writeScripts(join(release, path));
}

interface AppBundler {
  readonly writeScripts: (app: string) => Promise<void>;
}

function manifestOf({ version }: Origin, dependencies: Libraries, node: string): object {
  return {
    name: "partner-collections",
    version,
    private: true,
    license: "Apache-2.0",
    type: "module",
    engines: { node: `>=${node}` },
    dependencies,
  };
}

/** Returns the major version of Node that the repository uses, such as `24`. */
async function nodeMajor(): Promise<string> {
  const workspace = await readFile(join(ROOT, "pnpm-workspace.yaml"), "utf8");
  return /^nodeVersion: (\d+)/m.exec(workspace)![1]!;
}

async function writeJson(file: string, value: object): Promise<void> {
  await writeFile(file, `${JSON.stringify(value, undefined, 2)}\n`);
}

async function moveInto(path: string, finished: string): Promise<void> {
  if (existsSync(path)) await rmdir(path);
  await rename(finished, path);
}
