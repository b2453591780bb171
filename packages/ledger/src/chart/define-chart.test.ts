import { createDatabase, type Database, migrate, newId, transaction } from "@collections/database";
import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AccountId,
  type ChartPosting,
  type ChartTransfer,
  defineChart,
  InvalidChartError,
  InvalidPostingError,
} from "../index.ts";

const invoicing = defineChart({
  accounts: ["receivable", "revenue", "tax", "bank"],
  kinds: {
    invoice: { debit: "receivable", credit: "revenue" },
    invoice_tax: { debit: "receivable", credit: "tax" },
    receipt: { debit: "bank", credit: "receivable" },
    payout: { debit: ["revenue", "tax"], credit: "bank" },
  },
});

let url: string;
let database: Database;
let book: string;
let customer: string;
let invoiceId: string;
let receivable: AccountId;
let revenue: AccountId;
let tax: AccountId;
let bank: AccountId;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  await migrate({ url, schemas: [invoicing.schema] });
  database = await createDatabase({ url, schemas: [invoicing.schema] });
});
afterAll(() => database.close());

/** Opens the accounts of a new book and of a new customer. */
async function openBook(): Promise<void> {
  [book, customer, invoiceId] = [newId(), newId(), newId()];
  const account = { book, currency: "EUR" };
  [receivable, revenue, tax, bank] = await transaction(database.em(), (tx) =>
    Promise.resolve(
      invoicing.open(tx, [
        { ...account, kind: "receivable", ownerId: customer },
        { ...account, kind: "revenue", ownerId: book },
        { ...account, kind: "tax", ownerId: book },
        { ...account, kind: "bank", ownerId: book },
      ]),
    ),
  );
}

type Kind = "invoice" | "invoice_tax" | "receipt" | "payout";

function post(...postings: ChartPosting<Kind>[]): Promise<string[]> {
  return transaction(database.em(), (tx) => Promise.resolve(invoicing.post(tx, ...postings)));
}

function anInvoice(changes: object = {}): ChartPosting<Kind> {
  const posting = {
    book,
    kind: "invoice",
    debit: receivable,
    credit: revenue,
    amountMinor: 10_000n,
    subject: invoiceId,
  };
  return { ...posting, ...changes } as ChartPosting<Kind>;
}

describe("a ledger with the chart of an invoicing application", () => {
  beforeAll(openBook);

  test("has the right balances and passes verify after an invoice, its tax and its receipt are posted", async () => {
    const ids = await post(
      anInvoice({ memo: "2 hours" }),
      { book, kind: "invoice_tax", debit: receivable, credit: tax, amountMinor: 1_900n, subject: invoiceId },
      { book, kind: "receipt", debit: bank, credit: receivable, amountMinor: 11_900n, subject: invoiceId },
      { book, kind: "payout", debit: revenue, credit: bank, amountMinor: 100n },
    );
    const em = database.em();
    expect(await invoicing.balance(em, { book, account: receivable })).toEqual({
      heldDebitMinor: 0n,
      heldCreditMinor: 0n,
      debitMinor: 11_900n,
      creditMinor: 11_900n,
      balanceMinor: 0n,
    });
    expect((await invoicing.balance(em, { book, account: revenue })).balanceMinor).toBe(-9_900n);
    const transfers = await invoicing.transfersOf(em, { book, subject: invoiceId });
    expect(transfers.map(({ id, kind }) => [id, kind])).toEqual([
      [ids[0], "invoice"],
      [ids[1], "invoice_tax"],
      [ids[2], "receipt"],
    ]);
    expect(transfers[0]).toMatchObject({ book, debit: receivable, credit: revenue, currency: "EUR", memo: "2 hours" });
    expect(await invoicing.extendChain(em, book)).toMatchObject({ rows: 4 });
    expect(await invoicing.verify(database.em())).toMatchObject({ ok: true, problems: [] });
  });

  test("posts a correction in the opposite direction, and keeps the wrong transfer", async () => {
    await post(anInvoice({ subject: customer }));
    const [wrong] = await invoicing.transfersOf(database.em(), { book, subject: customer });
    await transaction(database.em(), (tx) => Promise.resolve(invoicing.correct(tx, wrong!, "Wrong customer")));
    const [, undone] = await invoicing.transfersOf(database.em(), { book, subject: customer });
    expect(undone).toMatchObject({ kind: "correction", debit: revenue, credit: receivable, corrects: wrong!.id });
  });

  test("rejects a second correction of a transfer, also at the same time, and accepts a correction of the correction", async () => {
    const subject = newId();
    await post(anInvoice({ subject }));
    const [wrong] = await invoicing.transfersOf(database.em(), { book, subject: subject });
    const correct = (transfer: ChartTransfer) =>
      transaction(database.em(), async (tx) => invoicing.correct(tx, transfer, "Wrong customer"));
    const outcomes = await Promise.allSettled([correct(wrong!), correct(wrong!)]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const again = await correct(wrong!).catch((error: unknown) => error);
    expect(again).toBeInstanceOf(InvalidPostingError);
    expect(again).toMatchObject({
      code: "ALREADY_CORRECTED",
      message: `The transfer ${wrong!.id} cannot be corrected: 10000 of its 10000 minor units were corrected already; transfersOf shows its corrections.`,
    });
    const [, undone] = await invoicing.transfersOf(database.em(), { book, subject: subject });
    await correct(undone!);
    const transfers = await invoicing.transfersOf(database.em(), { book, subject: subject });
    expect(transfers.map(({ corrects }) => corrects)).toEqual([null, wrong!.id, undone!.id]);
  });

  test("rejects a change of a transfer, even by the owner of the table", async () => {
    await expect(database.pool.query("update general_ledger.transfer set amount_minor = 1")).rejects.toThrow(
      "append-only",
    );
  });
});

describe("the database of a chart", () => {
  beforeAll(openBook);

  /** Inserts a transfer directly into the table, without the checks of `post`. */
  function insert(changes: Record<string, unknown>): Promise<unknown> {
    const row = {
      kind: "invoice",
      debit: receivable,
      credit: revenue,
      currency: "EUR",
      memo: "",
      corrects: null,
      ...changes,
    };
    return database.pool.query(
      `insert into general_ledger.transfer (lender_id, id, debit_account, credit_account, amount_minor, currency, kind, corrects, memo,
         effective_at, recorded_at) values ($1, $2, $3, $4, 1, $5, $6, $7, $8, now(), now())`,
      [book, newId(), row.debit, row.credit, row.currency, row.kind, row.corrects, row.memo],
    );
  }

  test("accepts a transfer that the chart allows", async () => {
    expect(await insert({})).toMatchObject({ rowCount: 1 });
  });

  test.each([
    ["a kind that the chart does not have", () => ({ kind: "placement" })],
    ["a transfer between accounts that its kind does not allow", () => ({ debit: bank })],
    ["a transfer in the opposite direction", () => ({ debit: revenue, credit: receivable })],
    ["a transfer in USD between accounts in EUR", () => ({ currency: "USD" })],
    [
      "a correction without a reason",
      async () => {
        const [corrects] = await post(anInvoice());
        return { kind: "correction", corrects, debit: revenue, credit: receivable };
      },
    ],
  ])("rejects %s", async (_, changes) => {
    await expect(insert(await changes())).rejects.toMatchObject({ code: "23514", constraint: "transfer_in_chart" });
  });

  test("rejects a transfer to an account that is not open, or is open only in another book", async () => {
    const unopened = invoicing.account("revenue", newId(), "EUR");
    await expect(insert({ credit: unopened })).rejects.toMatchObject({ code: "23503" });
    await expect(post(anInvoice({ credit: unopened }))).rejects.toThrow(
      `the account ${unopened} of the book ${book} is not open`,
    );
    const other = newId();
    await expect(post(anInvoice({ book: other }))).rejects.toThrow(`of the book ${other} is not open`);
  });
});

describe("invalid arguments of a chart", () => {
  beforeAll(openBook);

  test.each<[string, () => object, string]>([
    [
      "KIND_UNKNOWN",
      () => ({ kind: "refund" }),
      'the chart has no kind "refund"; it has invoice, invoice_tax, receipt, payout.',
    ],
    ["ID_INVALID", () => ({ book: "acme" }), 'book is "acme"; expected a UUID.'],
    ["ID_INVALID", () => ({ subject: "INV-1" }), 'subject is "INV-1"; expected a UUID, or null.'],
    ["AMOUNT_INVALID", () => ({ amountMinor: 0n }), "amountMinor is 0; expected a bigint from 1 to 2^63 - 1"],
    ["AMOUNT_INVALID", () => ({ amountMinor: 100 }), "expected a bigint from 1 to 2^63 - 1, such as 11_900n"],
    ["ACCOUNT_UNKNOWN", () => ({ debit: "receivable" }), 'debit is "receivable"; expected the id of an account'],
    ["ACCOUNT_NOT_ALLOWED", () => ({ debit: bank }), "the kind invoice may not debit bank, only receivable."],
    [
      "CURRENCY_MISMATCH",
      () => ({ credit: invoicing.account("revenue", book, "USD") }),
      "debit is in EUR and credit is in USD; expected two accounts in the same currency.",
    ],
    ["MEMO_INVALID", () => ({ memo: "a\0b" }), "without NUL"],
    [
      "FIELD_UNKNOWN",
      () => ({ subjectId: invoiceId }),
      'has the unknown field "subjectId"; expected book, kind, debit',
    ],
    ["TIME_INVALID", () => ({ effectiveAt: "today" }), 'effectiveAt is "today"; expected a valid Date.'],
  ])("post throws %s, and no posting of the call is stored (%#)", async (code, changes, message) => {
    const error = await post(anInvoice(), anInvoice(changes())).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidPostingError);
    expect(error).toMatchObject({ code, index: 1, message: expect.stringContaining(message) as string });
    expect((await invoicing.balance(database.em(), { book, account: receivable })).debitMinor).toBe(0n);
  });

  test.each([
    ["an empty reason", " "],
    ["a reason with NUL", "a\0b"],
    ["a reason of 1,001 characters", "x".repeat(1_001)],
  ])("correct rejects %s, and stores no correction", async (_name, reason) => {
    await openBook();
    await post(anInvoice());
    const [wrong] = await invoicing.transfersOf(database.em(), { book, subject: invoiceId });
    const correcting = transaction(database.em(), async (tx) => invoicing.correct(tx, wrong!, reason));
    await expect(correcting).rejects.toMatchObject({ name: "InvalidPostingError", code: "MEMO_INVALID" });
    expect(await invoicing.transfersOf(database.em(), { book, subject: invoiceId })).toHaveLength(1);
  });

  test("correct rejects the id of a transfer, and says to pass the transfer", async () => {
    const correcting = transaction(database.em(), async (tx) => invoicing.correct(tx, newId() as never, "Wrong"));
    await expect(correcting).rejects.toMatchObject({
      code: "ID_INVALID",
      message: expect.stringContaining("expected a transfer, as transfersOf returns it") as string,
    });
  });

  test("the error of open contains the position of the rejected account", async () => {
    const account = { book, kind: "bank", ownerId: customer, currency: "EUR" } as const;
    const opening = transaction(database.em(), async (tx) =>
      invoicing.open(tx, [account, { ...account, ownerId: "me" }]),
    );
    await expect(opening).rejects.toMatchObject({ code: "ID_INVALID", index: 1 });
  });

  test("open rejects a single account in place of a list, and shows the right call", async () => {
    const account = { book, kind: "bank", ownerId: customer, currency: "EUR" };
    const opening = transaction(database.em(), async (tx) => invoicing.open(tx, account as never));
    await expect(opening).rejects.toMatchObject({
      code: "ACCOUNTS_NOT_A_LIST",
      message: expect.stringContaining("open(tx, [{ book") as string,
    });
  });

  test("open rejects an account with an unknown field, and opens none", async () => {
    const account = { book, kind: "bank", ownerId: newId(), currency: "EUR" } as const;
    const opening = transaction(database.em(), async (tx) =>
      invoicing.open(tx, [account, { ...account, owner: customer } as never]),
    );
    await expect(opening).rejects.toMatchObject({ code: "FIELD_UNKNOWN", index: 1 });
    const unopened = invoicing.account("bank", account.ownerId, "EUR");
    await expect(invoicing.balance(database.em(), { book, account: unopened })).rejects.toMatchObject({
      code: "ACCOUNT_NOT_OPEN",
      message: `The account ${unopened} was never opened in the book ${book}; open it with open().`,
    });
  });

  test.each([
    ["the id of a book", () => ({ book, account: book }), "ACCOUNT_UNKNOWN"],
    ["an account of another chart", () => ({ book, account: `cash/${book}/EUR` }), "ACCOUNT_UNKNOWN"],
    ["an empty text", () => ({ book, account: "" }), "ACCOUNT_UNKNOWN"],
    ["no account", () => ({ book }), "ACCOUNT_UNKNOWN"],
    ["an account of another book", () => ({ book: newId(), account: bank }), "ACCOUNT_NOT_OPEN"],
    ["a book that is no UUID", () => ({ book: "acme", account: bank }), "ID_INVALID"],
  ])("balance rejects %s", async (_, of, code) => {
    await expect(invoicing.balance(database.em(), of() as never)).rejects.toMatchObject({ code });
  });

  test("transfersOf rejects a subject that is no UUID", async () => {
    const asked = invoicing.transfersOf(database.em(), { book, subject: "INV-1" });
    await expect(asked).rejects.toMatchObject({ code: "ID_INVALID" });
  });

  test("account() rejects an unknown kind, an owner that is not a UUID, and an unknown currency", () => {
    expect(() => invoicing.account("cash" as "bank", book, "EUR")).toThrow(
      'The chart has no account "cash"; it has receivable',
    );
    expect(() => invoicing.account("bank", "me", "EUR")).toThrow('ownerId is "me"; expected a UUID.');
    expect(() => invoicing.account("bank", book, "euro")).toThrow("euro");
  });
});

test.each<[object, string]>([
  [{ accounts: [], kinds: {} }, "The chart has no accounts."],
  [{ accounts: ["cash"], kinds: {} }, "The chart has no kinds of transfer."],
  [{ accounts: ["Cash"], kinds: { sale: { debit: "Cash", credit: "Cash" } } }, '"Cash" is not a valid name'],
  [
    { accounts: ["cash"], kinds: { correction: { debit: "cash", credit: "cash" } } },
    '"correction" is not a valid name',
  ],
  [{ accounts: ["cash"], kinds: { "x' or 1=1": { debit: "cash", credit: "cash" } } }, "is not a valid name"],
  [
    { accounts: ["cash"], kinds: { sale: { debit: "cash", credit: "revenue" } } },
    'names the unknown account "revenue"; expected one of cash.',
  ],
  [
    { accounts: ["cash"], kinds: { sale: { debit: "cash", credit: [] } } },
    "needs an account to debit and an account to credit; expected one of cash.",
  ],
  [
    { accounts: ["cash"], kinds: { sale: { debit: "cash", credit: "cash" } }, version: 0 },
    "expected a whole number from 1",
  ],
])("defineChart rejects %j", (definition, message) => {
  expect(() => defineChart(definition as Parameters<typeof defineChart>[0])).toThrow(InvalidChartError);
  expect(() => defineChart(definition as Parameters<typeof defineChart>[0])).toThrow(message);
});
