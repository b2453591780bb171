import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { packAll, ROOT, type Tarball } from "./pack-all.ts";

/** The other Node that every package promises to run on. */
const OTHER_NODE = "22.23.3";

export const run = promisify(execFile);

/** A place that knows nothing of the workspace. */
export interface Outside {
  /** All packages are installed here, each from its tarball, and what they depend on from the registry. */
  readonly app: string;
  /** A folder beside it that has the settings of the builds and nothing else. */
  readonly alone: string;
  /** A folder beside it, for examples that are installed each by itself. */
  readonly examples: string;
  readonly tarballs: readonly Tarball[];
  /** The executables of both versions, this one first. */
  readonly nodes: readonly [string, string];
  remove(): Promise<void>;
}

/** Packs all packages and installs them in an empty folder under the folder for temporary files. */
export async function installOutside(): Promise<Outside> {
  const folder = await mkdtemp(join(tmpdir(), "collections-outside-"));
  const [app, alone, examples, other] = await Promise.all(
    ["app", "alone", "examples", "node"].map((name) => emptyPackage(join(folder, name))),
  );
  const nodeIsThere = npmInstall(other!, [`node@${OTHER_NODE}`]);
  const tarballs = await packAll(join(folder, "tarballs"));
  const paths = tarballs.map(({ path }) => path);
  await Promise.all([npmInstall(app!, paths), nodeIsThere]);
  for (const file of ["tsconfig.base.json", "tsconfig.build.json"]) await cp(join(ROOT, file), join(alone!, file));
  return {
    app: app!,
    alone: alone!,
    examples: examples!,
    tarballs,
    nodes: [process.execPath, join(other!, "node_modules/node/bin/node")],
    remove: () => rm(folder, { recursive: true, force: true }),
  };
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
