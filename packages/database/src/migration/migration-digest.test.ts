import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeEach, expect, test } from "vitest";
import {
  createDatabase,
  inSchema,
  migrate,
  MigrationChangedError,
  type PackageSchema,
  requireReady,
} from "../index.ts";

const FIRST = "create table zoo.lion (id uuid primary key)";
const SECOND = "alter table zoo.lion add column name text";
const DIGEST_TABLE = "collections_migration_digest";

let url: string;
let owner: Client | undefined;

beforeEach(async () => {
  await owner?.end();
  url = directUrl((await emptyDatabase()).url);
  owner = new Client({ connectionString: url });
  await owner.connect();
});
afterAll(() => owner?.end());

function zooWith(second: string, more: Partial<PackageSchema["migrations"][number]> = {}): PackageSchema {
  const migrations = [
    { name: "0001", statements: ["create schema zoo", FIRST] },
    { name: "0002-names", statements: [second], ...more },
  ];
  return { name: "zoo", entities: [], migrations };
}

async function rows(text: string): Promise<unknown[]> {
  return (await owner!.query<object>(text)).rows;
}

const zoo = zooWith(SECOND);
const changed = zooWith("alter table zoo.lion add column title text");
/** A changed migration and a new one. */
const later = {
  ...changed,
  migrations: [...changed.migrations, { name: "0003", statements: ["create table zoo.tiger ()"] }],
};

test("migrate refuses a changed text, names the migration, and changes nothing", async () => {
  await migrate({ url, schemas: [zoo] });
  const error = await migrate({ url, schemas: [later] }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MigrationChangedError);
  expect(error).toMatchObject({ code: "MIGRATION_CHANGED", changed: ["zoo/0002-names"] });
  expect(await rows("select to_regclass('zoo.tiger') as tiger")).toEqual([{ tiger: null }]);
  expect(await migrate({ url, schemas: [zoo] })).toEqual({ applied: [], unknown: [] });
});

test("requireReady reports a changed text as MIGRATION_CHANGED", async () => {
  await migrate({ url, schemas: [zoo] });
  await using stack = new AsyncDisposableStack();
  const database = await createDatabase({ url, schemas: [changed] });
  stack.defer(() => database.close());
  await expect(requireReady(database, changed)).rejects.toMatchObject({
    name: "NotReadyError",
    code: "MIGRATION_CHANGED",
    message: expect.stringContaining("since they were applied: zoo/0002-names. Restore the text") as string,
  });
});

test("the statement in the message accepts the new text", async () => {
  await migrate({ url, schemas: [zoo] });
  const error = await migrate({ url, schemas: [later] }).catch((thrown: unknown) => thrown as Error);
  await owner!.query(/run: (.+)$/.exec((error as Error).message)![1]!);
  expect(await migrate({ url, schemas: [later] })).toEqual({ applied: ["zoo/0003"], unknown: [] });
});

test.each([
  ["more white space", zooWith("\n  alter table zoo.lion\n    add column name text\n")],
  ["a text that may change", zooWith("select 'a rule'", { mayChange: true })],
])("migrate accepts %s", async (_, schema) => {
  await migrate({ url, schemas: [zoo] });
  expect(await migrate({ url, schemas: [schema] })).toEqual({ applied: [], unknown: [] });
});

test("migrate does not compare what a version without digests applied", async () => {
  await migrate({ url, schemas: [zoo] });
  await owner!.query(`drop table ${DIGEST_TABLE}`);
  expect(await migrate({ url, schemas: [later] })).toEqual({ applied: ["zoo/0003"], unknown: [] });
  expect(await rows(`select name from ${DIGEST_TABLE}`)).toEqual([{ name: "zoo/0003" }]);
});

test("a database of a later version is left as it is", async () => {
  await migrate({ url, schemas: [later] });
  expect(await migrate({ url, schemas: [zoo] })).toEqual({ applied: [], unknown: ["zoo/0003"] });
});

test("a migration that fails leaves no digest", async () => {
  await expect(migrate({ url, schemas: [zooWith("alter table zoo.bear add column name text")] })).rejects.toThrow(
    'relation "zoo.bear" does not exist',
  );
  expect(await rows(`select name from ${DIGEST_TABLE}`)).toEqual([]);
  expect((await migrate({ url, schemas: [zoo] })).applied).toEqual(["zoo/0001", "zoo/0002-names"]);
});

test("a package in another schema has digests of its own", async () => {
  await migrate({ url, schemas: [zoo] });
  await migrate({ url, schemas: [zoo, inSchema(zoo, "acme_zoo")] });
  const refusal = migrate({ url, schemas: [zoo, inSchema(changed, "acme_zoo")] });
  await expect(refusal).rejects.toMatchObject({ changed: ["acme_zoo/0002-names"] });
});

test("a role without rights on the digests can still start", async () => {
  const role = `digest_${new URL(url).pathname.slice(1)}`;
  await owner!.query(`create role ${role} login password 'digest'`);
  const runtime = new URL(url);
  [runtime.username, runtime.password] = [role, "digest"];
  try {
    await migrate({ url, runtimeUrl: runtime.href, schemas: [zoo] });
    await expect(migrate({ url: runtime.href, schemas: [changed] })).rejects.toThrow(MigrationChangedError);
    await owner!.query(`revoke all on ${DIGEST_TABLE} from ${role}`);
    expect(await migrate({ url: runtime.href, schemas: [zoo] })).toEqual({ applied: [], unknown: [] });
  } finally {
    await owner!.query(`drop owned by ${role}; drop role ${role}`);
  }
});
