import { execFile } from "node:child_process";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";

/** Options that make the archive of the same files always the same: GNU tar would store times, owners and the order. */
const REPRODUCIBLE = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=a+rX,go-w"];

/** Packs a folder with GNU tar into a `.tar.gz` beside it. Returns the path of the archive. */
export async function packFolder(folder: string): Promise<string> {
  const archive = `${folder}.tar.gz`;
  const args = [...REPRODUCIBLE, "--use-compress-program=gzip -n", "-cf", archive];
  await promisify(execFile)("tar", [...args, "-C", dirname(folder), basename(folder)]);
  return archive;
}
