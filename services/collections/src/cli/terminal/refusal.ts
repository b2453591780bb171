import { isUnavailable, MigrationNeededError, SessionNeededError, sqlState } from "@collections/database";
import { WrongMasterKeyError } from "@collections/lenders";
import type { PostgresError } from "@collections/postgres";
import { CommanderError } from "commander";
import { InvalidConfigError } from "../../settings/config.ts";
import { RELEASE } from "../../settings/release.ts";

/** The exit codes. */
export const EXIT = {
  done: 0,
  refused: 1,
  notUnderstood: 2,
  notFound: 3,
  unavailable: 4,
  fault: 5,
  partly: 6,
} as const;

/** SQLSTATEs of a wrong role or password, and of a missing database. */
const LOGIN_FAILED = /^(28...|3D000)$/;

const MAIN = RELEASE ? "main.js" : "services/collections/src/main.ts";
const RELEASE_STEP = `DATABASE_MIGRATION_URL=postgres://<owner>… DATABASE_URL=<as now> node ${MAIN} migrate`;

const RIGHT_KEY =
  "Set MASTER_KEY to that key. During a rotation, set MASTER_KEY_PREVIOUS to the other key until " +
  '"collections master-key rotate" has exited with code 0. If the key is lost: collections master-key replace-lost --help.';

/** A command is refused, and nothing was changed. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: string;
  readonly exitCode: number;

  constructor(code: string, detail: string, exitCode: number = EXIT.refused) {
    super(detail);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** Returns the refusal of a command that names something that does not exist. */
export function notFound(what: string, name: string): Refusal {
  return new Refusal(
    `${what.toUpperCase().replaceAll(" ", "_")}_NOT_FOUND`,
    `There is no ${what} ${name}.`,
    EXIT.notFound,
  );
}

/** Returns the code, the sentence and the exit code that report an error. */
export function explain(error: unknown): { code: string; detail: string; exitCode: number } {
  if (error instanceof Refusal) return { code: error.code, detail: error.message, exitCode: error.exitCode };
  if (error instanceof CommanderError) {
    const exitCode = error.exitCode === 0 ? EXIT.done : EXIT.notUnderstood;
    const detail = error.code === "commander.help" ? "A command is missing; see --help." : error.message;
    return { code: "NOT_UNDERSTOOD", detail: detail.replace(/^error: /, ""), exitCode };
  }
  if (error instanceof InvalidConfigError) {
    return { code: "INVALID_SETTINGS", detail: error.message, exitCode: EXIT.notUnderstood };
  }
  if (error instanceof SessionNeededError) {
    const settings = "DATABASE_MIGRATION_URL, DATABASE_DIRECT_URL, DATABASE_URL";
    const detail = `${error.message} The URL comes from the first of these settings that is set: ${settings}.`;
    return { code: "INVALID_SETTINGS", detail, exitCode: EXIT.notUnderstood };
  }
  if (error instanceof MigrationNeededError) {
    const detail = `${error.message} Run the release step once, with the URL of the role that owns the schema: ${RELEASE_STEP}`;
    return { code: error.code, detail, exitCode: EXIT.notUnderstood };
  }
  if (error instanceof WrongMasterKeyError) {
    return { code: error.code, detail: `${error.message} ${RIGHT_KEY}`, exitCode: EXIT.notUnderstood };
  }
  if (isPostgresError(error) || isUnavailable(error) || LOGIN_FAILED.test(sqlState(error) ?? "")) {
    const detail = `The database cannot be reached: ${(error as Error).message}`;
    return { code: "SERVICE_UNAVAILABLE", detail, exitCode: EXIT.unavailable };
  }
  const code = (error as { code?: unknown }).code;
  if (error instanceof Error && typeof code === "string" && error.name.endsWith("Error")) {
    const missing = code.endsWith("_NOT_FOUND");
    return { code, detail: error.message, exitCode: missing ? EXIT.notFound : EXIT.refused };
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: "INTERNAL_ERROR", detail, exitCode: EXIT.fault };
}

/** Whether the embedded PostgreSQL failed. Compares the name, because the class would load the embedded PostgreSQL. */
function isPostgresError(error: unknown): error is PostgresError {
  return error instanceof Error && error.name === "PostgresError";
}
