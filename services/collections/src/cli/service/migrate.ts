import { checkCluster, distribute, type Distribution, migrate, type ReadRows } from "@collections/database";
import { Command } from "commander";
import { readConfig } from "../../settings/config.ts";
import { essentials } from "../../settings/local-data.ts";
import { checkGivenMasterKey, givenMasterKeyCheck } from "../../settings/master-key.ts";
import { jobsSchema, schemas } from "../../schemas.ts";
import { Refusal } from "../terminal/refusal.ts";
import { tell } from "../terminal/terminal.ts";
import { answer } from "../terminal/with-database.ts";

interface MigrateCommandOptions {
  distribute?: boolean;
  dryRun?: boolean;
}

/** `migrate`: brings the schema up to date and, on a cluster, distributes the tables. */
export function migrateCommand(): Command {
  return new Command("migrate")
    .option("--distribute", "after the migration, distribute the tables by lender on a Citus cluster")
    .option("--dry-run", "with --distribute: migrate, and only print the statements for Citus")
    .description("Bring the database's schema up to date, as each start of the service does.")
    .addHelpText(
      "after",
      `
Run --distribute in each release of a cluster. You may repeat it: it does only the remaining steps. If the extension
citus is not installed in the database, it does nothing. A cluster that is not ready is refused before anything is migrated: a
node does not answer, has max_prepared_transactions = 0, has Citus before 13, or lacks a role.

Example:
  pnpm collections migrate --distribute --dry-run`,
    )
    .action(runMigrate);
}

async function runMigrate({ distribute: distributes = false, dryRun = false }: MigrateCommandOptions): Promise<void> {
  if (dryRun && !distributes) throw new Refusal("NOT_UNDERSTOOD", "--dry-run needs --distribute.", 2);
  const config = readConfig(process.env);
  const given = await essentials(config);
  try {
    const addresses = { url: given.databaseMigrationUrl, runtimeUrl: given.databaseUrl };
    const { check: checkKey } = givenMasterKeyCheck(config, given);
    const check = async (read: ReadRows) => {
      await checkKey?.(read);
      if (distributes) await checkCluster(read, addresses);
    };
    const { applied, unknown } = await migrate({ ...addresses, schemas, jobsSchema, jobs: true, onWait: tell, check });
    await checkGivenMasterKey(config, given);
    const migrated = applied.length === 0 ? upToDate(unknown) : `Applied ${applied.join(", ")}.`;
    if (!distributes) return answer({ applied, unknown }, migrated);
    const distribution = await distribute({ ...addresses, schemas, jobsSchema, dryRun, onWait: tell });
    const { citus = null, statements } = distribution;
    answer({ applied, unknown, citus, dryRun, statements }, `${migrated}\n${distributedText(distribution, dryRun)}`);
  } finally {
    await given.release();
  }
}

function upToDate(unknown: readonly string[]): string {
  if (unknown.length === 0) return "The schema was up to date.";
  return `The database has migrations of a later version (${unknown.join(", ")}): nothing was changed.`;
}

function distributedText({ citus, statements }: Distribution, dryRun: boolean): string {
  const sent = statements.map((text) => `${text};`).join("\n");
  const missing = "The extension citus is not installed in this database";
  if (dryRun)
    return `${citus === undefined ? `${missing}. On a cluster these statements would be sent:\n` : ""}${sent}`;
  if (citus === undefined) return `${missing}: there is nothing to distribute.`;
  return statements.length === 0
    ? `Citus ${citus} has distributed every table already.`
    : `These statements were sent to Citus ${citus}:\n${sent}`;
}
