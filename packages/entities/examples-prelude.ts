// Declarations that the examples in the docstrings use. The examples are compiled together with this file.
import { type PackageSchema, query, send, statement } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** Declarations of another product that writes invoices. */
declare const url: string;
declare const billingSchema: PackageSchema;
declare const tx: Tx;
declare const invoiceId: string;
declare const dueAt: Date;
const InvoiceEntity = defineEntity({
  name: "Invoice",
  schema: "billing",
  tableName: "invoice",
  properties: {
    id: p.uuid().primary(),
    paid: p.boolean(),
    paidAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});
type InvoiceRow = InferEntity<typeof InvoiceEntity>;
