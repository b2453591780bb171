import { storedLoanNumber } from "@collections/cases";
import { parsePublicId } from "@collections/database";
import { createDatabase, type Database, type EntityManager } from "@collections/entities";
import { fieldPartnerById } from "@collections/field-partners";
import { type AnchorKeys, createAnchorKeys } from "@collections/ledger";
import { checkMasterKey, createVault, type Lender, lenderByCode, type Vault } from "@collections/lenders";
import { type Config, readConfig } from "../../settings/config.ts";
import { type Essentials, essentials } from "../../settings/local-data.ts";
import { machineTimeZone } from "./local-time.ts";
import { masterKeyCheck, masterKeysOf } from "../../settings/master-key.ts";
import { jobsSchema, schemas } from "../../schemas.ts";
import { migrateMarked } from "../../settings/unmarked-poolers.ts";
import { whileMigrating } from "../../settings/while-migrating.ts";
import { notFound } from "./refusal.ts";
import { print, printJson, tell } from "./terminal.ts";

/** The parts of the service that commands use. */
export interface Operator {
  readonly config: Config;
  readonly database: Database;
  readonly vault: Vault;
  readonly anchorKeys: AnchorKeys;
  em(): EntityManager;
}

/**
 * Opens the configured database, migrates it, runs `work` and closes the database.
 * @throws WrongMasterKeyError if the master key is wrong, unless `acceptsWrongKey`
 */
export async function withDatabase<T>(
  work: (operator: Operator) => Promise<T>,
  { acceptsWrongKey = false }: { acceptsWrongKey?: boolean } = {},
): Promise<T> {
  const config = readConfig(process.env);
  const given = await essentials(config);
  try {
    const check = acceptsWrongKey ? {} : masterKeyCheck(config, given);
    const database = await whileMigrating(
      () => openedDatabase(given),
      migrateMarked(given, { schemas, jobs: true, jobsSchema, onWait: tell, ...check }),
    );
    const masterKeys = masterKeysOf(config, given);
    const [vault, anchorKeys] = [createVault(masterKeys), createAnchorKeys(masterKeys)];
    try {
      if (!acceptsWrongKey) await checkMasterKey(database.em(), vault);
      return await work({ config, database, vault, anchorKeys, em: () => database.em() });
    } finally {
      await database.close();
    }
  } finally {
    await given.release();
  }
}

function openedDatabase({ databaseUrl: url, databaseDirectUrl: directUrl }: Essentials): Promise<Database> {
  return createDatabase({ url, directUrl, schemas, jobsSchema, poolMax: 2, applicationName: "collections-cli" });
}

/** Prints the answer of a command: one JSON document with `--json`, else the text. */
export function answer(json: unknown, text: string): void {
  if (process.argv.includes("--json")) printJson(json, { indent: 2 });
  else print(text);
}

/** Returns the lender with this code. Throws a Refusal if there is none. */
export async function lenderNamed(em: EntityManager, code: string): Promise<Lender> {
  const lender = await lenderByCode(em, code.toUpperCase());
  if (!lender) throw notFound("lender", code);
  return lender;
}

/** Returns the loan number that the lender's cases have for the given text, which may have another normal form. */
export function loanNamed(em: EntityManager, lender: Lender, text: string): Promise<string> {
  return storedLoanNumber(em, lender.id, text.trim());
}

/** Returns the time zone of a field partner, or of this machine if there is no such field partner. */
export async function timeZoneOfFieldPartner(em: EntityManager, id: string): Promise<string> {
  return (await fieldPartnerById(em, id))?.timeZone ?? machineTimeZone();
}

/** Reads a public id such as `fp_…`, or a UUID. Returns the UUID in lower case. Throws a Refusal for any other text. */
export function idOf(prefix: string, what: string, text: string): string {
  const id = isUuid(text) ? text.toLowerCase() : parsePublicId(prefix, text);
  if (id === undefined) throw notFound(what, text);
  return id;
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Formats a table. A column is as wide as its widest cell. Line breaks in a cell become blanks. */
export function table(lines: readonly (readonly string[])[]): string {
  const rows = lines.map((cells) => cells.map((cell) => cell.replaceAll(/[\r\n]+/g, " ")));
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
