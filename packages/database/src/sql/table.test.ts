import { emptyDatabase } from "@collections/testing";
import { defineEntity, EntitySchema, type InferEntity, p } from "@mikro-orm/postgresql";
import { afterAll, describe, expect, test } from "vitest";
import {
  createDatabase,
  insertFor,
  lenderInsert,
  newId,
  query,
  send,
  statement,
  tableOf,
  transaction,
} from "../index.ts";

const InvoiceEntity = defineEntity({
  name: "Invoice",
  schema: "billing",
  tableName: "invoice",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    currency: p.character().length(3),
    totalMinor: p.bigint(),
    lines: p.integer(),
    dueOn: p.date().fieldName("due").strictNullable(),
    paidAt: p.datetime().columnType("timestamptz").strictNullable(),
    notes: p.json<{ text: string }[]>().strictNullable(),
    tags: p.array().columnType("text[]"),
  },
});
type Invoice = InferEntity<typeof InvoiceEntity>;

const invoices = tableOf(InvoiceEntity);
const CHANGED = ["totalMinor", "dueOn"] as const;

describe("the SQL made from an entity", () => {
  test("names the table with its schema, and without one if the entity has none", () => {
    expect(invoices.name).toBe("billing.invoice");
    const properties = { id: { type: "uuid", primary: true } } as const;
    expect(tableOf(new EntitySchema<{ id: string }>({ name: "Cart", tableName: "cart", properties })).name).toBe(
      "cart",
    );
  });

  test("names columns as the entity does: by fieldName, or by the property in snake case", () => {
    expect(invoices.column("totalMinor")).toBe("total_minor");
    expect(invoices.column("dueOn")).toBe("due");
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

  test("accepts types that an EntitySchema declares by name", () => {
    const table = tableOf(
      new EntitySchema<{ id: string; total: bigint; at: Date }>({
        name: "Receipt",
        tableName: "receipt",
        properties: {
          id: { type: "uuid", primary: true },
          total: { type: "bigint" },
          at: { type: "Date", columnType: "timestamptz" },
        },
      }),
    );
    expect(table.unnest("k", table.properties)).toBe(
      "unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) as k (id, total, at)",
    );
  });

  test("has the columns of the entity in every part of a statement", () => {
    expect(invoices.selectList("i", ["id", "dueOn"])).toBe('i.id as "id", i.due as "dueOn"');
    expect(invoices.columnList(CHANGED)).toBe("total_minor, due");
    expect(invoices.columnList(CHANGED, "i")).toBe("i.total_minor, i.due");
    expect(invoices.parameterList(CHANGED)).toBe("$1, $2");
    expect(invoices.parameterList(CHANGED, 3)).toBe("$3, $4");
    expect(invoices.assignParameters(CHANGED, 3)).toBe("total_minor = $3, due = $4");
    expect(invoices.assignFrom("excluded", CHANGED)).toBe("total_minor = excluded.total_minor, due = excluded.due");
    expect(invoices.unnest("k", ["id", ...CHANGED], 2)).toBe(
      "unnest($2::uuid[], $3::bigint[], $4::date[]) as k (id, total_minor, due)",
    );
    expect(invoices.insertedTypes(["id", "currency", "tags"])).toEqual({
      id: "uuid",
      currency: "char(3)",
      tags: "text[]",
    });
  });

  test("selects every column in the order of the entity unless properties are given", () => {
    expect(invoices.selectList("i")).toBe(invoices.selectList("i", invoices.properties));
    expect(invoices.properties).toEqual(Object.keys(InvoiceEntity.meta.properties));
  });
});

describe("a table made from an entity", () => {
  test("rejects a property that the entity does not have, with an error that lists the entity's properties", () => {
    // @ts-expect-error The type of the list rejects "amount" as well; callers in plain JavaScript get the error below.
    const select = () => invoices.selectList("i", ["id", "amount"]);
    expect(select).toThrow(
      new Error(
        'The entity Invoice has no column for "amount". It has columns for: ' +
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
    const sensor = defineEntity({ name: "Sensor", tableName: "sensor", properties: { heat: p.double().primary() } });
    expect(() => tableOf(sensor).insertedTypes(["heat"])).toThrow(
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
       lines integer not null, due date, paid_at timestamptz, notes jsonb, tags text[] not null, primary key (lender_id, id))`,
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
