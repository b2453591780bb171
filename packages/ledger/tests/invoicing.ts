import { createDatabase, type Database, migrate, newId, transaction } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { afterAll } from "vitest";
import { defineChart } from "../src/index.ts";

/** The chart of an application that writes invoices. */
export const invoicing = defineChart({
  accounts: ["receivable", "revenue"],
  kinds: { invoice: { debit: "receivable", credit: "revenue" } },
});

const schemas = [invoicing.schema];

/** Creates a migrated database for this test file and returns its URL. */
export async function invoicingDatabaseUrl(): Promise<string> {
  const { url } = await testDatabase("invoicing", async (at) => void (await migrate({ url: at, schemas })));
  return url;
}

/** Opens a migrated database for this test file, and closes it after the tests. Call it at the top level. */
export async function invoicingDatabase(): Promise<Database> {
  const database = await createDatabase({ url: await invoicingDatabaseUrl(), schemas });
  afterAll(() => database.close());
  return database;
}

/** A book with one customer. `invoice` posts invoices for this customer. */
export class SampleBook {
  readonly id = newId();
  readonly customerId = newId();
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Posts an invoice for each amount. */
  async invoice(...amountsMinor: readonly bigint[]): Promise<string[]> {
    const account = { book: this.id, currency: "EUR" };
    return transaction(this.#database.em(), async (tx) => {
      const [debit, credit] = invoicing.open(tx, [
        { ...account, kind: "receivable", ownerId: this.customerId },
        { ...account, kind: "revenue", ownerId: this.id },
      ]);
      const posting = {
        book: this.id,
        kind: "invoice",
        debit,
        credit,
        subject: this.customerId,
        memo: "Roof",
      } as const;
      return invoicing.post(tx, ...amountsMinor.map((amountMinor) => ({ ...posting, amountMinor })));
    });
  }
}
