import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buildSchema } from "graphql";
import { createYoga } from "graphql-yoga";
import { Pool } from "pg";
import { answerQuestions } from "../load/child.ts";
import type { BoundStatement } from "../load/wire.ts";

/**
 * A GraphQL server that answers the list of cases with the least work. It runs the given SQL statements one after the
 * other and returns the given answer, without computing anything. The service is compared with it.
 */
export interface ListRival {
  readonly databaseUrl: string;
  readonly statements: readonly BoundStatement[];
  readonly data: object;
}

const SCHEMA = new URL("../../../../services/collections/schema.graphql", import.meta.url);
/** The number of database connections. The service has the same number. */
const CONNECTIONS = 10;

answerQuestions(async ({ databaseUrl, statements, data }: ListRival) => {
  const pool = new Pool({ connectionString: databaseUrl, max: CONNECTIONS });
  const schema = buildSchema(readFileSync(SCHEMA, "utf8"));
  schema.getQueryType()!.getFields()["cases"]!.resolve = async () => {
    for (const { name, text, values } of statements) {
      await pool.query(name === "" ? { text, values: [...values] } : { name, text, values: [...values] });
    }
    return (data as { cases: unknown }).cases;
  };
  const yoga = createYoga({ schema, logging: false, graphiql: false, landingPage: false, cors: false });
  const server = createServer((request, response) => void yoga(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
