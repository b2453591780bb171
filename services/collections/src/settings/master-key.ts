import type { MigrateOptions } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { checkMasterKey, checkMasterKeyBeforeMigration, createVault } from "@collections/lenders";
import type { Config } from "./config.ts";
import type { Essentials } from "./local-data.ts";
import { jobsSchema, schemas } from "../schemas.ts";

/**
 * Returns the master keys of a process: the key that seals and, during a rotation, the previous key, which only opens.
 */
export function masterKeysOf({ masterKeyPrevious: previous }: Config, { masterKey }: Essentials) {
  return { masterKey, ...(previous !== undefined && { previous }) };
}

/** Returns the option of `migrate` that rejects a wrong master key before anything is changed. */
export function masterKeyCheck(config: Config, given: Essentials): Pick<MigrateOptions, "check"> {
  const vault = createVault(masterKeysOf(config, given));
  return { check: (read) => checkMasterKeyBeforeMigration(read, vault) };
}

/**
 * Returns `masterKeyCheck` for a release step, which only migrates the database. Returns no option if MASTER_KEY is not
 * set: see `checkGivenMasterKey`.
 */
export function givenMasterKeyCheck(config: Config, given: Essentials): Pick<MigrateOptions, "check"> {
  return config.masterKey === undefined ? {} : masterKeyCheck(config, given);
}

/**
 * Checks the master key of a release step against the database. A sandbox's release step may have no MASTER_KEY. Then
 * nothing is checked, because a key that this process makes is not the key of the processes that start later.
 * @throws WrongMasterKeyError
 */
export async function checkGivenMasterKey(config: Config, given: Essentials): Promise<void> {
  if (config.masterKey === undefined) return;
  const { databaseUrl: url, databaseDirectUrl: directUrl } = given;
  const database = await createDatabase({
    url,
    directUrl,
    schemas,
    jobsSchema,
    poolMax: 1,
    applicationName: "collections-migrate",
  });
  try {
    await checkMasterKey(database.em(), createVault(masterKeysOf(config, given)));
  } finally {
    await database.close();
  }
}
