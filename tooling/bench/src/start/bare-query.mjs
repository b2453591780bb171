// The minimal process that connects to a database and queries it once. Commands are compared with it.
import { Client } from "pg";

const client = new Client({ connectionString: process.env["DATABASE_URL"] });
await client.connect();
await client.query("select 1");
await client.end();
