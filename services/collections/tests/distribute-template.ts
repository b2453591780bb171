/** Distributes the tables of our packages in the database whose URL is given: called by `testDatabase` on a cluster. */
import { distribute } from "@collections/database";
import { Client } from "pg";
import { schemas } from "../src/schemas.ts";

const url = process.argv[2]!;
const client = new Client({ connectionString: url });
await client.connect();
// A test of one package migrates the schemas that this package needs.
const { rows } = await client.query<{ name: string }>("select nspname as name from pg_namespace");
await client.end();
const present = new Set(rows.map(({ name }) => name));
await distribute({ url, schemas: schemas.filter(({ name }) => present.has(name)) });
