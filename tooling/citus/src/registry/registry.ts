import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import type { PackageMigration, Statement, UndistributedTable } from "@collections/database";

/** The parts of a package's schema that the audit and the linter need. The entities are left out. */
export interface RegisteredSchema {
  readonly name: string;
  readonly undistributed: readonly UndistributedTable[];
  readonly migrations: readonly PackageMigration[];
}

/** All named SQL of the product, and its schemas. */
export interface Registry {
  readonly statements: readonly Statement[];
  readonly schemas: readonly RegisteredSchema[];
}

const MAX_BYTES = 64 * 1_024 * 1_024;

/**
 * Imports every source file that registers a statement, in a separate process, and returns the registered statements.
 */
export async function readRegistry(): Promise<Registry> {
  const script = fileURLToPath(new URL("print-registry.ts", import.meta.url));
  const args = ["--disable-warning=ExperimentalWarning", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: MAX_BYTES });
  return JSON.parse(stdout) as Registry;
}
