import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { expect, test } from "vitest";
import { createDatabase, type DatabaseOptions, migrate, type MigrateOptions } from "./index.ts";

const url = "postgres://app:s3cret@127.0.0.1:1/nowhere";
const schema = { name: "shop", entities: [], migrations: [] };

test.each([
  ["url", undefined, "the option url is missing; expected a URL such as postgres://app@localhost:5432/billing."],
  ["url", "", "the option url is empty"],
  ["url", "localhost/s3cret", "the option url is not a PostgreSQL URL"],
  ["url", "mysql://app:s3cret@localhost/shop", "the option url is not a PostgreSQL URL"],
  ["directUrl", 5432, "the option directUrl is not a PostgreSQL URL"],
  [
    "url",
    `${url}?sslmode=prefer`,
    "the option url has sslmode=prefer: expected disable, require, verify-ca, verify-full",
  ],
  [
    "directUrl",
    `${url}?sslcrl=/list.crl`,
    "the option directUrl has the parameter sslcrl, which is not supported: remove",
  ],
  ["schemas", undefined, "the option schemas is not an array"],
  ["schemas", [schema, undefined], 'has no schema at index 1; import it from the entry point "/schema"'],
  ["schemas", [{ schema }], "has no schema at index 0; pass the property schema of this object, such as chart.schema."],
  ["schemas", [schema, schema], `has two schemas named ${schema.name}; give one of them another name`],
  ["pool", { connectionString: url }, "the option pool is not a Pool of pg; expected new Pool("],
  ["poolMax", "10", 'the option poolMax is "10"; expected a whole number from 1.'],
  ["connectionTimeoutMs", 0, "the option connectionTimeoutMs is 0; expected a whole number of milliseconds from 1."],
  ["answerTimeoutMs", "12s", 'the option answerTimeoutMs is "12s"; expected a whole number of milliseconds from 1.'],
  ["jobsSchema", "Jobs", 'the option jobsSchema is "Jobs"; expected a name that no schema of the option schemas has'],
  ["jobsSchema", "shop", "expected a name that no schema of the option schemas has, with 1 to 50 characters"],
  ["jobsSchema", "x".repeat(51), "with 1 to 50 characters of a-z, 0-9 and _, not beginning with a digit or pg_."],
  ["shares", { payments: 10 }, "together fewer than poolMax."],
  ["shares", { payments: 0 }, 'the option shares is {"payments":0}; expected numbers of connections from 1 by name'],
])(
  "createDatabase rejects the option %s = %j, and the error names the option but contains no password",
  async (option, value, message) => {
    const options = { url, schemas: [schema], [option]: value } as unknown as DatabaseOptions;
    const error = await createDatabase(options).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "INVALID_DATABASE_OPTION", option });
    expect((error as Error).message).toContain(`createDatabase: the option ${option}`);
    expect((error as Error).message).toContain(message);
    expect((error as Error).message).not.toContain("s3cret");
  },
);

test("createDatabase and migrate reject a call without options", async () => {
  const error = { code: "INVALID_DATABASE_OPTION", option: "url" };
  await expect(createDatabase(undefined as unknown as DatabaseOptions)).rejects.toMatchObject(error);
  await expect(migrate({} as unknown as MigrateOptions)).rejects.toMatchObject(error);
});

test("if the role of runtimeUrl does not exist, migrate throws an error that names the role, and migrates nothing", async () => {
  const at = directUrl((await emptyDatabase()).url);
  const runtimeUrl = new URL(at);
  runtimeUrl.username = "nobody_made_me";
  const shop = { ...schema, migrations: [{ name: "0001", statements: ["create schema shop"] }] };
  await expect(migrate({ url: at, runtimeUrl: runtimeUrl.href, schemas: [shop] })).rejects.toMatchObject({
    code: "RUNTIME_ROLE_MISSING",
    message:
      'The role nobody_made_me of runtimeUrl does not exist. Create it first: create role "nobody_made_me" login.',
  });
  const client = new Client({ connectionString: at });
  await client.connect();
  const { rowCount } = await client.query("select from pg_namespace where nspname = 'shop'");
  await client.end();
  expect(rowCount).toBe(0);
});
