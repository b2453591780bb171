import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./command.ts";
import { installExamples } from "./example.ts";
import { packAll, pnpm, type Tarball } from "./pack-all.ts";

/** The oldest Node that all packages support, and the oldest Node that the packages for lenders support. */
const [FLOOR, LENDERS_FLOOR] = ["22.19", "20.3"];

/** The versions that a host's manifest chooses for the dependencies of our packages, as the README of the entities advises. */
export const HOST_OVERRIDES = { pg: "8.23.1" };

/** The version of pg's types that the host chooses. */
const PG_TYPES = "8.23.1";

/** Folders outside of the workspace, in which the packages are used as their users use them. */
export interface Outside {
  /** A folder where all packages are installed, each from its tarball, with their dependencies from the registry. */
  readonly app: string;
  /** A second folder, with the examples. Each example has only the dependencies that it declares. */
  readonly examples: string;
  readonly tarballs: readonly Tarball[];
  /** The Node executables of this version and of the oldest version that every package supports, in this order. */
  readonly nodes: readonly [string, string];
  /**
   * The executable of the oldest Node version that each range in `engines` allows. The key is the range, such as
   * `>=22.19`.
   */
  readonly floors: ReadonlyMap<string, string>;
  remove(): Promise<void>;
}

/** Packs all packages and installs them in an empty folder below the temporary folder. */
export async function installOutside(): Promise<Outside> {
  const folder = await mkdtemp(join(tmpdir(), "collections-outside-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    return { ...(await installIn(folder)), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function installIn(folder: string): Promise<Omit<Outside, "remove">> {
  const [app, examples] = [await emptyPackage(join(folder, "app")), await emptyPackage(join(folder, "examples"))];
  const floors = installNodes(join(folder, "nodes"), [FLOOR, LENDERS_FLOOR]);
  const packages = packAll(join(folder, "tarballs")).then(async (tarballs) => {
    // A host in TypeScript installs the types of pg itself.
    await npmInstall(app, [...tarballs.map(({ path }) => path), `@types/pg@${PG_TYPES}`]);
    await installExamples(examples, tarballs);
    return tarballs;
  });
  // Wait for both installations even if one fails. Otherwise the other one would still write while the folder is
  // removed.
  await Promise.allSettled([floors, packages]);
  const [node, lendersNode] = await floors;
  return {
    app,
    examples,
    tarballs: await packages,
    nodes: [process.execPath, node!],
    floors: new Map([
      [`>=${FLOOR}`, node!],
      [`>=${LENDERS_FLOOR}`, lendersNode!],
    ]),
  };
}

/**
 * Installs the first patch release (`x.y.0`) of each of these Node versions. Returns the paths of their executables.
 */
async function installNodes(folder: string, versions: readonly string[]): Promise<string[]> {
  await emptyPackage(folder);
  // Install the package with the executable directly. The package `node` would run a second npm to install it.
  const binaries = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  // pnpm links the executables from its store. npm would unpack 300 MB in each run.
  await pnpm(["add", ...versions.map((version) => `node-${version}@npm:${binaries}@${version}.0`)], folder);
  return versions.map((version) => join(folder, `node_modules/node-${version}/bin/node`));
}

async function emptyPackage(folder: string): Promise<string> {
  await mkdir(folder);
  const manifest = { private: true, type: "module", overrides: HOST_OVERRIDES };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

/** Installs the dependencies of the folder's manifest, and `what` in addition. */
export async function npmInstall(cwd: string, what: readonly string[] = []): Promise<void> {
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...what], { cwd });
}
