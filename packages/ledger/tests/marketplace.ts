import { createDatabase, type Database, migrate, newId, transaction } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { afterAll } from "vitest";
import { type AccountId, type ChartPosting, defineChart } from "../src/index.ts";

/** The chart of a marketplace that keeps customers' money in escrow until it releases the money to a seller. */
export const marketplace = defineChart({
  accounts: {
    bank: { normalSide: "debit", minimum: 0n },
    escrow: { normalSide: "credit", minimum: 0n },
    earnings: { normalSide: "credit", minimum: -100n },
    fees: { normalSide: "credit" },
  },
  kinds: {
    deposit: { debit: "bank", credit: "escrow" },
    release: { debit: "escrow", credit: "earnings" },
    fee: { debit: "earnings", credit: "fees" },
    payout: { debit: "earnings", credit: "bank" },
  },
});

const schemas = [marketplace.schema];

/** Opens a migrated database for this test file, and closes it after the tests. Call it at the top level. */
export async function marketDatabase(): Promise<Database> {
  const { url } = await testDatabase("marketplace", async (at) => void (await migrate({ url: at, schemas })));
  const database = await createDatabase({ url, schemas });
  afterAll(() => database.close());
  return database;
}

type Kind = "deposit" | "release" | "fee" | "payout";

/** A book of the marketplace with one customer. */
export class MarketBook {
  readonly id = newId();
  bank!: AccountId;
  escrow!: AccountId;
  earnings!: AccountId;
  fees!: AccountId;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Opens the accounts. */
  async open(): Promise<this> {
    const account = { book: this.id, ownerId: this.id, currency: "EUR" };
    await transaction(this.#database.em(), async (tx) => {
      [this.bank, this.escrow, this.earnings, this.fees] = marketplace.open(tx, [
        { ...account, kind: "bank" },
        { ...account, kind: "escrow" },
        { ...account, kind: "earnings" },
        { ...account, kind: "fees" },
      ]);
    });
    return this;
  }

  /** A posting of a kind between the accounts of this book. */
  posting(kind: Kind, amountMinor: bigint, subject = this.id): ChartPosting<Kind> {
    const [debit, credit] = {
      deposit: [this.bank, this.escrow] as const,
      release: [this.escrow, this.earnings] as const,
      fee: [this.earnings, this.fees] as const,
      payout: [this.earnings, this.bank] as const,
    }[kind];
    return { book: this.id, kind, debit, credit, amountMinor, subject };
  }

  /** Posts all in one call. */
  post(...postings: readonly ChartPosting<Kind>[]): Promise<string[]> {
    return transaction(this.#database.em(), async (tx) => marketplace.post(tx, ...postings));
  }

  /** Debits minus credits of an account, in minor units. */
  async balanceMinor(account: AccountId): Promise<bigint> {
    return (await marketplace.balance(this.#database.em(), { book: this.id, account })).balanceMinor;
  }
}
