import { defineEntity, EntitySchema, p } from "@mikro-orm/postgresql";
import { describe, expect, test } from "vitest";
import { tableOf } from "./index.ts";

const invoices = tableOf(
  defineEntity({
    name: "Invoice",
    schema: "billing",
    tableName: "invoice",
    properties: {
      id: p.uuid().primary(),
      currency: p.character().length(3),
      totalMinor: p.bigint(),
      lines: p.integer(),
      dueOn: p.date().fieldName("due").strictNullable(),
      paidAt: p.datetime().columnType("timestamptz").strictNullable(),
      notes: p.json<{ text: string }[]>().strictNullable(),
      tags: p.array().columnType("text[]"),
    },
  }),
);

describe("the table of an entity", () => {
  test("has the name of the table with its schema, and without one if the entity has none", () => {
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

  test("names types as PostgreSQL does, and knows which columns may be NULL", () => {
    const columns = invoices.properties.map((property) => [invoices.type(property), invoices.isNullable(property)]);
    expect(columns).toEqual([
      ["uuid", false],
      ["char(3)", false],
      ["bigint", false],
      ["integer", false],
      ["date", true],
      ["timestamptz", true],
      ["jsonb", true],
      ["text[]", false],
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
});
