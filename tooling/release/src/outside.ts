import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./command.ts";
import { packAll, ROOT, type Tarball } from "./pack-all.ts";

/** The oldest Node that every package promises to run on, and the oldest for those that lenders take. */
const [FLOOR, LENDERS_FLOOR] = ["22.19", "20.3"];

/** A place that knows nothing of the workspace. */
export interface Outside {
  /** All packages are installed here, each from its tarball, and what they depend on from the registry. */
  readonly app: string;
  /** A folder beside it that has the settings of the builds and nothing else. */
  readonly alone: string;
  /** A folder beside it, for examples that are installed each by itself. */
  readonly examples: string;
  readonly tarballs: readonly Tarball[];
  /** The executables of this version and of the oldest that every package promises, this one first. */
  readonly nodes: readonly [string, string];
  /** By what stands in `engines`, such as `>=22.19`, the executable of the oldest version that this allows. */
  readonly floors: ReadonlyMap<string, string>;
  remove(): Promise<void>;
}

/** Packs all packages and installs them in an empty folder under the folder for temporary files. */
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
  const [app, alone, examples] = await Promise.all(
    ["app", "alone", "examples"].map((name) => emptyPackage(join(folder, name))),
  );
  const floors = [FLOOR, LENDERS_FLOOR].map((floor) => installNode(`${floor}.0`, folder));
  const packages = packAll(join(folder, "tarballs")).then(async (tarballs) => {
    await npmInstall(
      app!,
      tarballs.map(({ path }) => path),
    );
    return tarballs;
  });
  // Also when one of them fails: whoever removes the folder removes what the others still write.
  await Promise.allSettled([...floors, packages]);
  const [node, lendersNode] = await Promise.all(floors);
  for (const file of ["tsconfig.base.json", "tsconfig.build.json"]) await cp(join(ROOT, file), join(alone!, file));
  return {
    app: app!,
    alone: alone!,
    examples: examples!,
    tarballs: await packages,
    nodes: [process.execPath, node!],
    floors: new Map([
      [`>=${FLOOR}`, node!],
      [`>=${LENDERS_FLOOR}`, lendersNode!],
    ]),
  };
}

/** Gives the path of its executable. */
async function installNode(version: string, folder: string): Promise<string> {
  const place = await emptyPackage(join(folder, `node-${version}`));
  await npmInstall(place, [`node@${version}`]);
  return join(place, "node_modules/node/bin/node");
}

async function emptyPackage(folder: string): Promise<string> {
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  return folder;
}

/** Installs what the folder's manifest names, and `what` besides. */
export async function npmInstall(cwd: string, what: readonly string[] = []): Promise<void> {
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...what], { cwd });
}
