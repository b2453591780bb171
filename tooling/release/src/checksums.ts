import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Tarball } from "./pack-all.ts";

/** A package's file and its SHA-256, as 64 hexadecimal digits. */
export interface CheckedFile {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly sha256: string;
}

/** Writes SHA256SUMS, which `sha256sum --check` reads, into the folder of the tarballs. */
export async function writeChecksums(folder: string, tarballs: readonly Tarball[]): Promise<CheckedFile[]> {
  const files = await Promise.all(tarballs.map(withChecksum));
  const lines = files.map(({ file, sha256 }) => `${sha256}  ${file}\n`);
  await writeFile(join(folder, "SHA256SUMS"), lines.join(""));
  return files;
}

async function withChecksum({ name, version, path }: Tarball): Promise<CheckedFile> {
  const sha256 = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  return { name, version, file: basename(path), sha256 };
}
