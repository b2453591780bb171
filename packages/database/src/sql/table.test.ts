import { emptyDatabase } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import {
  createDatabase,
  defineTable,
  insertFor,
  lenderInsert,
  newId,
  query,
  send,
  statement,
  transaction,
} from "../index.ts";

interface Invoice {
  lenderId: string;
  id: string;
  currency: string;
  totalMinor: bigint;
  lines: number;
  dueOn: string | null;
  paidAt: Date | null;
  notes: { text: string }[] | null;
  tags: string[];
}

const invoices = defineTable<Invoice>("billing.invoice", {
  lenderId: "uuid",
  id: "uuid",
  currency: "char(3)",
  totalMinor: "bigint",
  lines: "integer",
  dueOn: "date null",
  paidAt: "timestamptz null",
  notes: "jsonb null",
  tags: "text[]",
});
const CHANGED = ["totalMinor", "dueOn"] as const;

describe("the SQL made from a definition", () => {
  test("names the table with its schema, and columns by their properties in snake case", () => {
    expect(invoices.name).toBe("billing.invoice");
    expect(invoices.column("totalMinor")).toBe("total_minor");
    expect(invoices.column("dueOn")).toBe("due_on");
  });

  test("knows which columns may be NULL", () => {
    expect(invoices.properties.filter((property) => invoices.isNullable(property))).toEqual([
      "dueOn",
      "paidAt",
      "notes",
    ]);
  });

  test("names types as PostgreSQL does", () => {
    expect(invoices.properties.map((property) => invoices.type(property))).toEqual([
      "uuid",
      "uuid",
      "char(3)",
      "bigint",
      "integer",
      "date",
      "timestamptz",
      "jsonb",
      "text[]",
    ]);
  });

  test("has the defined columns in every part of a statement", () => {
    expect(invoices.selectList("i", ["id", "dueOn"])).toBe('i.id as "id", i.due_on as "dueOn"');
    expect(invoices.columnList(CHANGED)).toBe("total_minor, due_on");
    expect(invoices.columnList(CHANGED, "i")).toBe("i.total_minor, i.due_on");
    expect(invoices.parameterList(CHANGED)).toBe("$1, $2");
    expect(invoices.parameterList(CHANGED, 3)).toBe("$3, $4");
    expect(invoices.assignParameters(CHANGED, 3)).toBe("total_minor = $3, due_on = $4");
    expect(invoices.assignFrom("excluded", CHANGED)).toBe(
      "total_minor = excluded.total_minor, due_on = excluded.due_on",
    );
    expect(invoices.unnest("k", ["id", ...CHANGED], 2)).toBe(
      "unnest($2::uuid[], $3::bigint[], $4::date[]) as k (id, total_minor, due_on)",
    );
    expect(invoices.insertedTypes(["id", "currency", "tags"])).toEqual({
      id: "uuid",
      currency: "char(3)",
      tags: "text[]",
    });
  });

  test("selects every column in the order of the definition unless properties are given", () => {
    expect(invoices.selectList("i")).toBe(invoices.selectList("i", invoices.properties));
    expect(invoices.selectList("i", invoices.properties).startsWith('i.lender_id as "lenderId", i.id as "id"')).toBe(
      true,
    );
  });
});

describe("a defined table", () => {
  test("rejects a property that has no column, with an error that lists the properties", () => {
    // @ts-expect-error The type of the list rejects "amount" as well; callers in plain JavaScript get the error below.
    const select = () => invoices.selectList("i", ["id", "amount"]);
    expect(select).toThrow(
      new Error(
        'The table billing.invoice has no column for "amount". It has columns for: ' +
          "lenderId, id, currency, totalMinor, lines, dueOn, paidAt, notes, tags.",
      ),
    );
  });

  test("throws when asked to unnest a column that is an array itself", () => {
    expect(() => invoices.unnest("k", ["id", "tags"])).toThrow(
      "unnest() would flatten billing.invoice.tags, which has the type text[]. Insert it with lenderInsert.",
    );
  });

  test("throws for an inserted column whose type lenderInsert does not know", () => {
    const sensor = defineTable<{ heat: number }>("sensor", { heat: "double precision" });
    expect(() => sensor.insertedTypes(["heat"])).toThrow(
      /^lenderInsert cannot insert sensor\.heat: it knows uuid, .*, but not double precision\.$/,
    );
  });
});

describe("on PostgreSQL", async () => {
  const { url } = await emptyDatabase();
  const database = await createDatabase({ url, schemas: [] });
  afterAll(() => database.close());
  await database.pool.query(
    `create schema billing;
     create table billing.invoice (lender_id uuid, id uuid, currency char(3) not null, total_minor bigint not null,
       lines integer not null, due_on date, paid_at timestamptz, notes jsonb, tags text[] not null, primary key (lender_id, id))`,
  );

  const [, ...INSERTED] = invoices.properties;
  const addMany = lenderInsert("table-test.add-many", {
    table: invoices.name,
    columns: invoices.insertedTypes(INSERTED),
  });
  const addOne = statement(
    "table-test.add-one",
    `insert into ${invoices.name} (${invoices.columnList(invoices.properties)})
     values (${invoices.parameterList(invoices.properties)})`,
  );
  const changeOne = statement(
    "table-test.change-one",
    `update ${invoices.name} set ${invoices.assignParameters(CHANGED, 3)} where lender_id = $1 and id = $2`,
  );
  const changeMany = statement(
    "table-test.change-many",
    `update ${invoices.name} i set ${invoices.assignFrom("k", CHANGED)}
     from ${invoices.unnest("k", ["id", ...CHANGED], 2)} where i.lender_id = $1 and i.id = k.id`,
  );
  const selectAll = statement(
    "table-test.select-all",
    `select ${invoices.selectList("i")} from ${invoices.name} i where i.lender_id = $1 order by i.id`,
  );

  const lenderId = newId();
  const paid: Invoice = {
    lenderId,
    id: newId(),
    currency: "INR",
    totalMinor: 250n,
    lines: 2,
    dueOn: "2026-12-01",
    paidAt: new Date("2026-11-20T10:00:00.123Z"),
    notes: [{ text: 'a "b" \\ c' }],
    tags: ["paid", 'a,"b"'],
  };
  const open: Invoice = { ...paid, id: newId(), dueOn: null, paidAt: null, notes: null, tags: [] };
  const stored = () => query<Invoice>(database.em(), selectAll, [lenderId]);

  test("rows that were inserted as arrays are read back unchanged", async () => {
    const rows = [paid, open];
    const values = [rows.map((row) => row.lenderId), ...invoices.arrays(rows, INSERTED)] as const;
    await query(database.em(), ...insertFor(database.em(), addMany, values));
    expect(await stored()).toEqual([paid, open]);
  });

  test("a row that was inserted alone is read back unchanged", async () => {
    await database.pool.query("truncate billing.invoice");
    for (const row of [paid, open]) {
      await query(database.em(), addOne, invoices.values(row, invoices.properties));
    }
    expect(await stored()).toEqual([paid, open]);
  });

  test("updates of one row and of many rows change only the named columns", async () => {
    const dearer = { ...paid, totalMinor: 900n, dueOn: null, lines: 77 };
    const later = { ...open, totalMinor: 901n, dueOn: "2027-01-31", lines: 77 };
    await transaction(database.em(), async (tx) => {
      send(tx, changeOne, [lenderId, dearer.id, ...invoices.values(dearer, CHANGED)]);
      send(tx, changeMany, [lenderId, ...invoices.arrays([later], ["id", ...CHANGED])]);
    });
    expect(await stored()).toEqual([
      { ...dearer, lines: 2 },
      { ...later, lines: 2 },
    ]);
  });
});
