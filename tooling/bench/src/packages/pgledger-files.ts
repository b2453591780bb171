import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of the functions that pgledger needs, in a checkout of its repository. */
const ULID_FOLDER = "vendor/scoville-pgsql-ulid";

/** Says what is missing beside the file `pgledger.sql` of a checkout of pgledger; undefined if nothing is missing. */
export function missingForPgledger(file: string): string | undefined {
  if (!existsSync(file)) return `${file} does not exist`;
  const folder = join(dirname(file), ULID_FOLDER);
  return existsSync(folder) ? undefined : `${folder} does not exist`;
}

/** Reads the SQL of pgledger from a checkout, in the order in which its README says to run it. */
export function readPgledger(file: string): string[] {
  const folder = join(dirname(file), ULID_FOLDER);
  const helpers = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
  return [...helpers.map((name) => join(folder, name)), file].map((path) => readFileSync(path, "utf8"));
}
