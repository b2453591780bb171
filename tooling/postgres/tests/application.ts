/**
 * An application with an embedded PostgreSQL, which tests share, interrupt and kill. It prints the data of its server
 * as one line of JSON, and stops when its standard input ends. On SIGINT it writes to the database once more before it
 * exits.
 */
import { once } from "node:events";
import { Client } from "pg";
import { startPostgres } from "../src/index.ts";

const postgres = await startPostgres({ dataDir: process.argv[2] ?? "", durable: false });
process.once("SIGINT", () => void drain());
process.stdout.write(`${JSON.stringify(postgres)}\n`);
process.stdin.resume();
await once(process.stdin, "end");
await postgres.stop();

async function drain(): Promise<void> {
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  await client.query("create table drained ()");
  await client.end();
  process.stdin.destroy();
  process.exit();
}
