import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";

/**
 * The tables that an import of new cases fills, each with a condition for the rows that the import wrote. The lender's
 * own accounts existed before. The row of the import itself is left out.
 */
const ROWS: Readonly<Record<string, string>> = {
  "cases.collection_case": "true",
  "ledger.account": "kind in ('receivable', 'excess')",
  "ledger.transfer": "true",
  "webhooks.event": "true",
  "webhooks.delivery": "true",
};

/** Rows of a database in files of the server, ready to be copied into another database. */
export interface CopiedTables {
  /** Copies the rows into empty tables with the same names, in one transaction; resolves with the duration. */
  into(databaseUrl: string): Promise<{ readonly elapsedMs: number }>;
  remove(): Promise<void>;
}

/**
 * Makes the server write an import's rows to its own disk, so that the measured COPY involves no network and no client.
 */
export async function copyTables(databaseUrl: string): Promise<CopiedTables> {
  const files = await connected(databaseUrl, async (source) => {
    const { rows } = await source.query<{ folder: string }>("select current_setting('data_directory') as folder");
    const written = Object.keys(ROWS).map((table) => ({ table, path: join(rows[0]!.folder, `${table}.copy`) }));
    for (const { table, path } of written) {
      await source.query(`copy (select * from ${table} where ${ROWS[table]}) to '${path}'`);
    }
    return written;
  });
  return {
    into: (url) =>
      connected(url, async (target) => {
        const startedAt = performance.now();
        await target.query("begin");
        for (const { table, path } of files) await target.query(`copy ${table} from '${path}'`);
        await target.query("commit");
        return { elapsedMs: performance.now() - startedAt };
      }),
    async remove() {
      await Promise.all(files.map(({ path }) => rm(path, { force: true })));
    },
  };
}

async function connected<Answer>(connectionString: string, work: (client: Client) => Promise<Answer>): Promise<Answer> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
