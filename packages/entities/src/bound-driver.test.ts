import { testDatabase } from "@collections/testing";
import { EntitySchema } from "@mikro-orm/postgresql";
import { afterAll, expect, test } from "vitest";
import { migrate, newId, type PackageSchema, transaction } from "@collections/database";
import { createDatabase, type Tx } from "./index.ts";

interface Sample {
  id: string;
  text: string;
  amountMinor: bigint;
  count: number;
  isKept: boolean;
  tags: string[];
  data: unknown;
  day: string;
  at: Date;
  bytes: Uint8Array;
  note: string | null;
}

const SampleEntity = new EntitySchema<Sample>({
  name: "Sample",
  schema: "samples",
  tableName: "sample",
  properties: {
    id: { type: "uuid", primary: true },
    text: { type: "text" },
    amountMinor: { type: "bigint" },
    count: { type: "integer" },
    isKept: { type: "boolean" },
    tags: { type: "array", columnType: "text[]" },
    data: { type: "json", columnType: "jsonb" },
    day: { type: "date" },
    at: { type: "Date", columnType: "timestamptz" },
    bytes: { type: "blob", columnType: "bytea" },
    note: { type: "text", nullable: true },
  },
});

const schema: PackageSchema = {
  name: "samples",
  entities: [SampleEntity],
  migrations: [
    {
      name: "0001",
      statements: [
        "create schema samples",
        `create table samples.sample (id uuid primary key, text text not null, amount_minor bigint not null,
           count integer not null, is_kept boolean not null, tags text[] not null, data jsonb not null, day date not null,
           at timestamptz not null, bytes bytea not null, note text)`,
      ],
    },
  ],
};

const { url } = await testDatabase("bound-driver", async (at) => void (await migrate({ url: at, schemas: [schema] })));
const sent: string[] = [];
const database = await createDatabase({ url, schemas: [schema], onStatement: ({ text }) => void sent.push(text) });
afterAll(() => database.close());

/** Texts that look like SQL syntax. */
const ODD_TEXTS = [
  "O'Brien's $1 and $2? Or ?? and \\? \"quoted\"",
  "E'\\x41' -- no comment /* none */ ; select 1",
  "{a,b} [1,2] null ₹ 😀",
  "",
];

function aSample(changes: Partial<Sample> = {}): Sample {
  return {
    id: newId(),
    text: "plain",
    amountMinor: 9_007_199_254_740_993n,
    count: -7,
    isKept: true,
    tags: ODD_TEXTS,
    data: { "a?": [1, { $b: "c'?" }], none: null },
    day: "2026-02-28",
    at: new Date("2026-11-22T18:30:00.123Z"),
    bytes: Buffer.from([0, 39, 63, 92, 255]),
    note: null,
    ...changes,
  };
}

function create(samples: readonly Sample[]): Promise<void> {
  return transaction(database.em(), async (tx) => {
    for (const sample of samples) tx.create(SampleEntity, sample);
  });
}

async function stored(id: string): Promise<Sample> {
  const { bytes, ...row } = await database.em().findOneOrFail(SampleEntity, { id });
  return { ...row, bytes: Buffer.from(bytes) };
}

test("values of every type are read back unchanged, even if they look like SQL", async () => {
  const samples = [
    ...ODD_TEXTS.map((text) => aSample({ text, note: text })),
    aSample({ data: [], tags: [] }),
    aSample({ data: "text's", text: "two\nlines" }),
    aSample({ data: 12 }),
    aSample({ isKept: false, count: 0, amountMinor: -1n }),
  ];
  await create(samples);
  for (const sample of samples) expect(await stored(sample.id)).toEqual(sample);
});

test("MikroORM inserts many rows in one statement, and updates them in a second statement", async () => {
  const samples = Array.from({ length: 50 }, (_, index) => aSample({ text: `row ${index}` }));
  sent.length = 0;
  await create(samples);
  await transaction(database.em(), async (tx) => {
    const rows = await tx.find(SampleEntity, { id: { $in: samples.map(({ id }) => id) } });
    for (const row of rows) {
      row.text = `${row.text}'?`;
      row.amountMinor += 1n;
      row.data = { was: row.data };
      row.note = row.count < 0 ? "$1" : null;
    }
  });
  expect(sent.filter((text) => /^(insert|select|update)/.test(text)).map((text) => text.slice(0, 6))).toEqual([
    "insert",
    "select",
    "update",
  ]);
  expect(await stored(samples[7]!.id)).toEqual({
    ...samples[7]!,
    text: "row 7'?",
    amountMinor: samples[7]!.amountMinor + 1n,
    data: { was: samples[7]!.data },
    note: "$1",
  });
});

test("conditions accept values of every type, inside and outside a transaction", async () => {
  const text = `sought ${newId()}`;
  const sample = aSample({ text });
  await create([sample, aSample()]);
  const { id, amountMinor, at, day, bytes } = sample;
  const conditions = [
    { text, amountMinor, count: -7, isKept: true, at, day, bytes, note: null },
    { text, amountMinor: { $gt: amountMinor - 1n, $in: [amountMinor, 1n] }, at: { $lte: at }, note: null },
    { text: { $in: [text, "other"], $like: "sought%", $ne: "?" }, id: { $in: [id] } },
    { text, $or: [{ count: 8 }, { tags: { $contains: [ODD_TEXTS[0]!] } }] },
    { text, id: { $nin: [newId(), newId()] } },
  ];
  for (const where of conditions) {
    const find = (em: Tx | ReturnType<typeof database.em>) => em.find(SampleEntity, where, { limit: 5, offset: 0 });
    for (const found of [await find(database.em()), await transaction(database.em(), find)]) {
      expect(found.map((row) => row.id)).toEqual([id]);
    }
  }
  expect(await database.em().count(SampleEntity, { text, id: { $in: [] } })).toBe(0);
  expect(await database.em().nativeUpdate(SampleEntity, { text }, { note: "?" })).toBe(1);
  expect(await database.em().nativeDelete(SampleEntity, { text, note: "?" })).toBe(1);
});

test("no SQL text of MikroORM contains a value", async () => {
  sent.length = 0;
  const sample = aSample({ text: "needle", note: "needle" });
  await create([sample]);
  await database.em().find(SampleEntity, { text: "needle", count: -7, isKept: true }, { limit: 3, offset: 1 });
  await database.em().nativeUpdate(SampleEntity, { id: sample.id }, { note: "needle", count: 77, day: "2026-01-01" });
  const texts = sent.filter((text) => text.includes("samples"));
  expect(texts).toHaveLength(3);
  for (const text of texts) expect(text).not.toMatch(/'|needle|77|2026|true|\blimit \d/);
});

test("raw SQL keeps its parameters, identifiers and operators", async () => {
  const connection = database.em().getConnection();
  const named = await connection.execute("select :text::text as text, :count::int as count", { text: "a'?", count: 3 });
  expect(named).toEqual([{ text: "a'?", count: 3 }]);
  const rows = await connection.execute(`select ?::text as ??, '{"a":1}'::jsonb \\? ? as has`, ["x", "name", "a"]);
  expect(rows).toEqual([{ name: "x", has: true }]);
  expect(await connection.execute(`select '{"a":1}'::jsonb ? 'a' as has`)).toEqual([{ has: true }]);
});

test("BoundDriver rejects undefined values, too many values and stream() before anything is sent", async () => {
  sent.length = 0;
  const many = Array.from({ length: 65_536 }, () => "x");
  await expect(database.em().find(SampleEntity, { text: { $in: many } })).rejects.toThrow(
    "A query has more than 65535 values: split the query, or send one array with query().",
  );
  await expect(database.em().getConnection().execute("select ?", [undefined])).rejects.toThrow(
    "A value of this query is undefined: select ?",
  );
  expect(() => database.em().getConnection().stream("select ?", ["x"])).toThrow("read pages with find() instead");
  expect(sent).toEqual([]);
});
