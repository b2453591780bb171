import { DatabaseError, escapeIdentifier, escapeLiteral } from "pg";
import { onNode, withDatabase } from "./cluster.ts";

const IN_USE = "55006";
const ATTEMPTS = 5;

/** Drops a database of a server, including the connections and prepared transactions that tests left in it. */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  const text = `drop database if exists ${escapeIdentifier(name)} with (force)`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await onNode(serverUrl, (client) => client.query(text));
      return;
    } catch (error) {
      // `force` ends the connections to the database. The statement fails nevertheless in two cases: Citus has a
      // prepared transaction whose coordinator session has ended, or a process of Citus connects again within the five
      // seconds that PostgreSQL waits.
      if (!(error instanceof DatabaseError) || error.code !== IN_USE || attempt === ATTEMPTS) throw error;
      await rollBackPrepared(withDatabase(serverUrl, name));
    }
  }
}

async function rollBackPrepared(url: string): Promise<void> {
  await onNode(url, async (client) => {
    const { rows } = await client.query<{ gid: string }>(
      "select gid from pg_prepared_xacts where database = current_database()",
    );
    for (const { gid } of rows) await client.query(`rollback prepared ${escapeLiteral(gid)}`);
  });
}
