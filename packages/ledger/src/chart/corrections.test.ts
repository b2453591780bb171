import { createDatabase, type Database, migrate, newId, query, statement, transaction } from "@collections/database";
import { directUrl, emptyDatabase, withoutTriggers } from "@collections/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { invoicing, invoicingDatabaseUrl, SampleBook } from "../../tests/invoicing.ts";
import type { ChartTransfer } from "../index.ts";
import { generalMigration } from "./general-migration.ts";

const schemas = [invoicing.schema];
let database: Database;
let book: SampleBook;
let wrong: ChartTransfer;

beforeAll(async () => {
  database = await createDatabase({ url: await invoicingDatabaseUrl(), schemas });
});
afterAll(() => database.close());
beforeEach(async () => {
  book = new SampleBook(database);
  await book.invoice(500n);
  [wrong] = (await transfers()) as [ChartTransfer];
});

function transfers(): Promise<ChartTransfer[]> {
  return invoicing.transfersOf(database.em(), { book: book.id, subject: book.customerId });
}

function correct(amountMinor: bigint, transfer = wrong): Promise<string> {
  return transaction(database.em(), async (tx) => invoicing.correct(tx, transfer, "Too much", { amountMinor }));
}

describe("a correction of a part", () => {
  test("leaves the rest, which can be corrected later", async () => {
    await correct(200n);
    await correct(300n);
    expect((await transfers()).map(({ amountMinor }) => amountMinor)).toEqual([500n, 200n, 300n]);
    const { balanceMinor } = await invoicing.balance(database.em(), { book: book.id, account: wrong.debit });
    expect(balanceMinor).toBe(0n);
    expect(await invoicing.verify(database.em(), { book: book.id })).toMatchObject({ ok: true });
  });

  test("is refused if less is left, also at the same time", async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => correct(200n)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as Error] : []));
    expect(new Set(refusals.map(({ message }) => message))).toEqual(
      new Set([
        `The transfer ${wrong.id} cannot be corrected: 400 of its 500 minor units were corrected already; transfersOf shows its corrections.`,
      ]),
    );
    expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ code: "ALREADY_CORRECTED" }) as unknown));
    await correct(100n);
  });

  test.each([0n, -1n, 501n, 100])("is refused for the amount %s before anything is sent", async (amountMinor) => {
    await expect(correct(amountMinor as bigint)).rejects.toMatchObject({ code: "AMOUNT_INVALID" });
    expect(await transfers()).toHaveLength(1);
  });

  test("needs a transaction that sees what others have committed", async () => {
    const repeatable = transaction(database.em(), async (tx) => {
      await query(tx, repeatableRead, []);
      invoicing.correct(tx, wrong, "Too much");
    });
    await expect(repeatable).rejects.toThrow("needs the isolation level READ COMMITTED, not REPEATABLE READ");
  });
});

const repeatableRead = statement("corrections-test.isolation", "set transaction isolation level repeatable read");

describe("a correction is compared with the transfer in the database", () => {
  test.each<[string, () => Partial<ChartTransfer>]>([
    ["a transfer that does not exist", () => ({ id: newId() })],
    ["a larger amount", () => ({ amountMinor: 501n })],
    ["swapped accounts", () => ({ debit: wrong.credit, credit: wrong.debit })],
    ["a transfer of another book", () => ({ book: newId() })],
  ])("and is refused for %s", async (_, changes) => {
    const changed = { ...wrong, ...changes() };
    const refused = transaction(database.em(), async (tx) => invoicing.correct(tx, changed, "Wrong customer"));
    await expect(refused).rejects.toMatchObject({ name: "InvalidPostingError" });
    expect(await transfers()).toHaveLength(1);
    expect(await invoicing.verify(database.em(), { book: book.id })).toMatchObject({ ok: true });
  });
});

test("verify reports corrections that are larger than their transfer", async () => {
  await correct(500n);
  const copy = `insert into general_ledger.transfer select lender_id, $1, debit_account, credit_account, amount_minor, currency, kind,
    subject_id, corrects, memo, effective_at, recorded_at,
    general_ledger.transfer_digest(lender_id, $1, debit_account, credit_account, amount_minor, currency, kind, subject_id, corrects, memo,
      effective_at, recorded_at)
    from general_ledger.transfer where corrects = $2`;
  await withoutTriggers(database.pool, (client) => client.query(copy, [newId(), wrong.id]));
  const { problems } = await invoicing.verify(database.em(), { book: book.id });
  expect(problems).toMatchObject([
    { code: "CORRECTION_MISMATCH", id: wrong.id, detail: "Its corrections are 1000 of its 500 minor units." },
  ]);
});

test("a database with corrections of the version before is migrated", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const before = {
    ...invoicing.schema,
    migrations: invoicing.schema.migrations.filter(({ name }) => !/^000[23]/.test(name)),
  };
  expect(before.migrations[0]?.statements).toEqual(generalMigration);
  await migrate({ url, schemas: [before] });
  const older = await createDatabase({ url, schemas: [before] });
  const old = new SampleBook(older);
  await old.invoice(500n);
  const [first] = await invoicing.transfersOf(older.em(), { book: old.id, subject: old.customerId });
  await transaction(older.em(), async (tx) => invoicing.correct(tx, first!, "Wrong customer"));

  expect((await migrate({ url, schemas })).applied).toEqual([
    "general_ledger/0002-corrections",
    "general_ledger/0003-posting-keys",
  ]);
  const again = transaction(older.em(), async (tx) => invoicing.correct(tx, first!, "Wrong customer"));
  await expect(again).rejects.toMatchObject({ code: "ALREADY_CORRECTED" });
  expect(await invoicing.verify(older.em())).toMatchObject({ ok: true });
  await older.close();
});
