import { createDatabase, type Database, newId, transaction } from "@collections/database";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { invoicing, invoicingDatabaseUrl } from "../../tests/invoicing.ts";
import type { AccountId, ChartPosting } from "../index.ts";

let database: Database;
let book: string;
let debit: AccountId;
let credit: AccountId;

beforeAll(async () => {
  database = await createDatabase({ url: await invoicingDatabaseUrl(), schemas: [invoicing.schema] });
});
afterAll(() => database.close());
beforeEach(async () => {
  book = newId();
  [debit, credit] = await transaction(database.em(), async (tx) =>
    invoicing.open(tx, [
      { book, kind: "receivable", ownerId: book, currency: "EUR" },
      { book, kind: "revenue", ownerId: book, currency: "EUR" },
    ]),
  );
});

function anInvoice(changes: object = {}): ChartPosting<"invoice"> {
  return { book, kind: "invoice", debit, credit, amountMinor: 500n, subject: book, ...changes };
}

function postOnce(key: unknown, ...postings: ChartPosting<"invoice">[]): Promise<string[]> {
  return transaction(database.em(), (tx) => invoicing.postOnce(tx, { book, key: key as string }, ...postings));
}

async function balanceMinor(): Promise<bigint> {
  return (await invoicing.balance(database.em(), { book, account: debit })).balanceMinor;
}

describe("postOnce", () => {
  test("posts once, and returns the first ids to each repeat", async () => {
    const repeats = Array.from({ length: 10 }, () =>
      postOnce("request-1", anInvoice(), anInvoice({ amountMinor: 7n })),
    );
    const answers = await Promise.all(repeats);
    expect(new Set(answers.map((ids) => ids.join(" "))).size).toBe(1);
    const transfers = await invoicing.transfersOf(database.em(), { book, subject: book });
    expect(transfers.map(({ id }) => id)).toEqual(answers[0]);
    expect(await balanceMinor()).toBe(507n);
  });

  test.each<[string, () => object]>([
    ["another amount", () => ({ amountMinor: 501n })],
    ["another memo", () => ({ memo: "Roof" })],
    ["another subject", () => ({ subject: newId() })],
    ["a time", () => ({ effectiveAt: new Date() })],
  ])("refuses a key that was used for a posting with %s", async (_, changes) => {
    await postOnce("request-1", anInvoice());
    await expect(postOnce("request-1", anInvoice(changes()))).rejects.toMatchObject({ code: "KEY_REUSED" });
    await expect(postOnce("request-1", anInvoice(), anInvoice())).rejects.toMatchObject({ code: "KEY_REUSED" });
    expect(await balanceMinor()).toBe(500n);
  });

  test("posts for a key whose first transaction was rolled back", async () => {
    const failed = transaction(database.em(), async (tx) => {
      await invoicing.postOnce(tx, { book, key: "request-1" }, anInvoice());
      throw new Error("the host failed");
    });
    await expect(failed).rejects.toThrow("the host failed");
    expect(await balanceMinor()).toBe(0n);
    await postOnce("request-1", anInvoice());
    expect(await balanceMinor()).toBe(500n);
  });

  test("keeps the keys of different books apart", async () => {
    const first = await postOnce("request-1", anInvoice());
    const other = newId();
    const account = { book: other, ownerId: other, currency: "EUR" };
    const second = await transaction(database.em(), async (tx) => {
      const [to, from] = invoicing.open(tx, [
        { ...account, kind: "receivable" },
        { ...account, kind: "revenue" },
      ]);
      const posting = { book: other, kind: "invoice", debit: to, credit: from, amountMinor: 500n } as const;
      return invoicing.postOnce(tx, { book: other, key: "request-1" }, posting);
    });
    expect(second).not.toEqual(first);
  });

  test.each([
    ["no key", undefined, "KEY_INVALID"],
    ["an empty key", "", "KEY_INVALID"],
    ["a key of 201 characters", "x".repeat(201), "KEY_INVALID"],
    ["a key with NUL", "a\0b", "KEY_INVALID"],
  ])("refuses %s before anything is sent", async (_, key, code) => {
    await expect(postOnce(key, anInvoice())).rejects.toMatchObject({ code });
    expect(await balanceMinor()).toBe(0n);
  });

  test("refuses a key without postings, so that the key stays free", async () => {
    await expect(postOnce("request-1")).rejects.toMatchObject({ code: "KEY_INVALID" });
    await postOnce("request-1", anInvoice());
    expect(await balanceMinor()).toBe(500n);
  });

  test("refuses postings of another book than that of the key", async () => {
    await expect(postOnce("request-1", anInvoice({ book: newId() }))).rejects.toMatchObject({ code: "ID_INVALID" });
  });
});
