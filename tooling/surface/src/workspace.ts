import { access, glob, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A package of the workspace, from its manifest and its turbo.json. */
export interface WorkspacePackage {
  /** The name in the manifest, such as `@collections/ledger`. */
  readonly name: string;
  readonly description: string;
  /** The package's path below the root, such as `packages/ledger`. */
  readonly folder: string;
  /** `foundation`, `domain`, `flow`, `site`, `service` or `tooling`. */
  readonly layer: string;
  /** Whether the package has a second entry point, such as `@collections/cases/schema`. */
  readonly hasSchema: boolean;
  /** Its runtime dependencies. */
  readonly dependencies: readonly string[];
  /** Its peer dependencies: packages that it imports if the host has them. */
  readonly peers: readonly string[];
}

/** Reads the packages in some folders, such as `packages` and `services`, sorted by name. */
export async function workspacePackages(...folders: readonly string[]): Promise<WorkspacePackage[]> {
  const manifests = await Array.fromAsync(glob(`{${folders.join(",")},}/*/package.json`, { cwd: ROOT }));
  return Promise.all(manifests.toSorted().map((manifest) => readPackage(dirname(manifest))));
}

/** The name of a package's folder: `ledger` for `packages/ledger`. */
export function shortName({ folder }: Pick<WorkspacePackage, "folder">): string {
  return basename(folder);
}

async function readPackage(folder: string): Promise<WorkspacePackage> {
  const manifest = await readJson<Manifest>(folder, "package.json");
  const { tags } = await readJson<{ tags: [string] }>(folder, "turbo.json");
  return {
    name: manifest.name,
    description: manifest.description,
    folder,
    layer: tags[0],
    hasSchema: await exists(join(ROOT, folder, "src/schema.ts")),
    dependencies: Object.keys(manifest.dependencies ?? {}),
    peers: Object.keys(manifest.peerDependencies ?? {}),
  };
}

interface Manifest {
  readonly name: string;
  readonly description: string;
  readonly dependencies?: object;
  readonly peerDependencies?: object;
}

async function readJson<Content>(folder: string, name: string): Promise<Content> {
  return JSON.parse(await readFile(join(ROOT, folder, name), "utf8")) as Content;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
