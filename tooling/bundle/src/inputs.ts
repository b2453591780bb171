import { hash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** One file that a bundle is made from: its path in the repository, its size, its times and the SHA-256 of its content. */
export type Input = readonly [path: string, size: number, mtimeMs: number, ctimeMs: number, digest: string];

/** Files that decide which modules are bundled, and in which version. */
const MANIFESTS = [
  "pnpm-lock.yaml",
  "{packages,services}/*/package.json",
  "tooling/bundle/src/{bundle,without-second-undici}.ts",
];

/**
 * Lists what a bundle of `modules` was made from: its modules in the repository, and the manifests that decide which other
 * modules it has. Returns undefined if a file was changed after `startedAtMs`, because the bundle may have the earlier
 * content of that file.
 *
 * @param root the folder of the repository
 * @param startedAtMs the time at which bundling began, in milliseconds since 1970
 */
export function inputsOf(root: string, modules: readonly string[], startedAtMs: number): Input[] | undefined {
  const ours = modules.filter((path) => path.startsWith(root) && !path.includes("/node_modules/"));
  const paths = [...ours.map((path) => relative(root, path)), ...globSync(MANIFESTS, { cwd: root })];
  const inputs = [...new Set(paths)].toSorted().map((path): Input => {
    const { size, mtimeMs, ctimeMs } = statSync(join(root, path));
    return [path, size, mtimeMs, ctimeMs, hash("sha256", readFileSync(join(root, path)))];
  });
  return inputs.some(([, , mtimeMs, ctimeMs]) => Math.max(mtimeMs, ctimeMs) >= startedAtMs) ? undefined : inputs;
}
