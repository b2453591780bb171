import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The file in a release that lists the other files with their hashes. */
export const CHECKSUMS = "SHA256SUMS";

/**
 * Returns the SHA-256 of each regular file in a folder, in the format of `sha256sum`, sorted by path. Symbolic links are
 * left out, because they lead to files of the same folder.
 */
export function checksumsOf(folder: string): string {
  const files = globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => path !== CHECKSUMS);
  return files
    .toSorted()
    .map((path) => `${sha256(readFileSync(join(folder, path)))}  ${path}\n`)
    .join("");
}

export function sha256(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}
