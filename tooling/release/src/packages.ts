/** The program behind `pnpm release:packages`. */
import { readdir } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { writeChecksums } from "./checksums.ts";
import { packAll } from "./pack-all.ts";

const HELP = `Usage: pnpm release:packages [--to DIR] [--json]

Builds and packs every package, as files that npm installs, and writes their SHA-256 to SHA256SUMS.

Options:
  --to DIR   the folder; it must not exist, or be empty (default: dist/packages)
  --json     prints [{"name": …, "version": …, "file": …, "sha256": …}, …]
  --help     shows this text

Exit codes: 0 made · 1 the packages cannot be made · 2 wrong arguments, or DIR is in use

Example: pnpm release:packages --to /srv/collections/packages-1.4.0
`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let options: { readonly to?: string; readonly json?: boolean; readonly help?: boolean };
  try {
    options = parseArgs({
      args,
      options: { to: { type: "string" }, json: { type: "boolean" }, help: { type: "boolean" } },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (options.to === "") return refuse('--to "" is empty. Name a folder, such as --to dist/packages.');
  const folder = resolve(options.to ?? "dist/packages");
  if (!(await isFree(folder))) return refuse(`${folder} is a file, or a folder that is not empty. Name another one.`);
  try {
    if (!options.json) process.stderr.write("Packing the packages takes about half a minute.\n");
    const packed = await writeChecksums(folder, await packAll(folder));
    const where = relative(process.cwd(), folder) || folder;
    process.stdout.write(
      options.json ? `${JSON.stringify(packed)}\n` : `Made ${packed.length} packages and SHA256SUMS in ${where}\n`,
    );
    return 0;
  } catch (error) {
    process.stderr.write(`The packages cannot be made: ${(error as Error).message}\n`);
    return 1;
  }
}

/** Returns whether nothing is at this path, or an empty folder. */
async function isFree(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n\n${HELP}`);
  return 2;
}
