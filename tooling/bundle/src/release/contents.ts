import { globSync } from "node:fs";
import { chmod, cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * The packages of this repository that a release contains as sources, at the same paths. The sites serve files beside
 * their modules, and translate modules of `signing` for browsers, so these packages cannot be bundled. The console imports
 * `money`.
 */
export const SOURCE_PACKAGES = {
  "@collections/console": "sites/console",
  "@collections/docs-site": "sites/docs-site",
  "@collections/field-app": "sites/field-app",
  "@collections/money": "packages/money",
  "@collections/signing": "packages/signing",
  "@collections/web-pages": "sites/web-pages",
} as const satisfies Readonly<Record<string, string>>;

/**
 * The files that a release copies from the repository: sources of these packages, the documents that the service serves
 * at /docs, and files for operators.
 */
const PATTERNS = [
  "{LICENSE,README.md}",
  ".changeset/*.md",
  "deploy/**/*",
  "docs/{interface,operations,cluster,glossary,comparison}.md",
  "docs/{lenders,field-app}/**/*",
  "examples/README.md",
  "packages/*/README.md",
  "packages/signing/vectors.json",
  ...Object.values(SOURCE_PACKAGES).flatMap((path) => [`${path}/package.json`, `${path}/src/**/*`]),
];
const NOT_SHIPPED = [
  "**/node_modules/**",
  // A release contains the app's scripts in bundled form.
  "sites/field-app/src/{phone,worker}/**",
  "**/*.test.ts",
  "**/*.test.yaml",
  "**/tsconfig.json",
];

/** Returns the paths of the files that a release copies from the folder `root`, relative to it and sorted. */
export function copiedFiles(root: string): string[] {
  const found = globSync(PATTERNS, { cwd: root, exclude: NOT_SHIPPED, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, "/").length))
    .toSorted();
}

/** Copies files from one folder to the same paths in another folder. The copies are readable by every account. */
export async function copyFiles(from: string, to: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const target = join(to, path);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(from, path), target);
    await chmod(target, READABLE);
  }
}

const READABLE = 0o644;
