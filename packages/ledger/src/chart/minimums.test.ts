import { createDatabase, migrate, query, statement, transaction } from "@collections/database";
import { directUrl, emptyDatabase, withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { MarketBook, marketDatabase, marketplace } from "../../tests/marketplace.ts";
import { type AccountRules, ChartChangedError, defineChart, InvalidChartError } from "../index.ts";

const database = await marketDatabase();
let book: MarketBook;

beforeEach(async () => {
  book = await new MarketBook(database).open();
  await book.post(book.posting("deposit", 1_000n));
});

describe("an account with a minimum", () => {
  test("releases no more than it has, and names the posting", async () => {
    const refused = book.post(book.posting("deposit", 1n), book.posting("release", 1_000_000n));
    await expect(refused).rejects.toMatchObject({
      name: "InvalidPostingError",
      code: "BELOW_MINIMUM",
      index: 1,
      message: `Posting 1: the account ${book.escrow} would have -998999 minor units, and its minimum is 0; post at most what the account has.`,
    });
    await book.post(book.posting("release", 1_000n));
    expect(await book.balanceMinor(book.escrow)).toBe(0n);
  });

  test("may be below its minimum between two postings of one call", async () => {
    await book.post(book.posting("release", 1_200n), book.posting("deposit", 200n));
    expect(await book.balanceMinor(book.escrow)).toBe(0n);
  });

  test("may have a minimum below 0, as an overdraft", async () => {
    await book.post(book.posting("fee", 100n));
    await expect(book.post(book.posting("fee", 1n))).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
    expect(await book.balanceMinor(book.earnings)).toBe(100n);
  });

  test("holds the minimum on the debit side of a bank account", async () => {
    await book.post(book.posting("release", 1_000n), book.posting("payout", 1_000n));
    await expect(book.post(book.posting("payout", 1n))).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
    expect(await book.balanceMinor(book.bank)).toBe(0n);
  });

  test("is not overdrawn by many releases at the same time", async () => {
    const releases = Array.from({ length: 20 }, () => book.post(book.posting("release", 150n)));
    const outcomes = await Promise.allSettled(releases);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
    expect(refusals).toHaveLength(14);
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: "BELOW_MINIMUM" });
    expect(await book.balanceMinor(book.escrow)).toBe(-100n);
  });

  test("does not deadlock when calls name the accounts in opposite orders", async () => {
    const other = await new MarketBook(database).open();
    await other.post(other.posting("deposit", 1_000n));
    const pair = [book, other].flatMap((one) => [one.posting("release", 10n), one.posting("payout", 5n)]);
    const calls = Array.from({ length: 20 }, (_, index) => book.post(...(index % 2 ? pair : pair.toReversed())));
    await Promise.all(calls);
    expect(await book.balanceMinor(book.escrow)).toBe(-800n);
  });

  test("does not count a deposit that is not committed", async () => {
    const [deposited, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const depositing = transaction(database.em(), async (tx) => {
      marketplace.post(tx, book.posting("deposit", 500n));
      await query(tx, anyRow, []);
      deposited.resolve();
      await released.promise;
    });
    await deposited.promise;
    await expect(book.post(book.posting("release", 1_500n))).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
    released.resolve();
    await depositing;
    await book.post(book.posting("release", 1_500n));
  });

  test("is held when a correction takes a deposit back", async () => {
    await book.post(book.posting("release", 600n));
    const [deposit] = await marketplace.transfersOf(database.em(), { book: book.id, subject: book.id });
    const correct = (amountMinor: bigint) =>
      transaction(database.em(), async (tx) => marketplace.correct(tx, deposit!, "Bounced", { amountMinor }));
    await expect(correct(401n)).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
    await correct(400n);
  });

  test("needs a transaction that sees what others have committed", async () => {
    const repeatable = transaction(database.em(), async (tx) => {
      await query(tx, repeatableRead, []);
      marketplace.post(tx, book.posting("release", 1n));
    });
    await expect(repeatable).rejects.toThrow("needs the isolation level READ COMMITTED, not REPEATABLE READ");
  });

  test("is reported by verify if the trigger was off", async () => {
    expect(await marketplace.verify(database.em(), { book: book.id })).toMatchObject({ ok: true });
    const [id] = await book.post(book.posting("release", 1_000n));
    await withoutTriggers(database.pool, (client) =>
      client.query("update general_ledger.transfer set amount_minor = 1001 where id = $1", [id]),
    );
    const { problems } = await marketplace.verify(database.em(), { book: book.id });
    expect(problems).toContainEqual({
      code: "BELOW_MINIMUM",
      table: "account",
      id: book.escrow,
      book: book.id,
      detail: "It has -1 minor units, and its minimum is 0.",
    });
  });
});

const anyRow = statement("minimums-test.any-row", "select 1");
const repeatableRead = statement("minimums-test.isolation", "set transaction isolation level repeatable read");

describe("the minimums of a chart", () => {
  const kinds = { sale: { debit: "cash", credit: "revenue" }, refund: { debit: "revenue", credit: "cash" } } as const;
  const schema = "till";
  const before = defineChart({ accounts: ["cash", "revenue"], kinds, schema });
  const withMinimum = (minimum: bigint, version: number) =>
    defineChart({
      accounts: { cash: { normalSide: "debit", minimum }, revenue: { normalSide: "credit" } },
      kinds,
      schema,
      version,
    });

  test("are still held after the migration of an older database", async () => {
    const at = directUrl((await emptyDatabase()).url);
    const { schema: now } = marketplace;
    const older = { ...now, migrations: now.migrations.filter(({ name }) => name !== "0008-minimums-by-kind") };
    await migrate({ url: at, schemas: [older] });
    await using stack = new AsyncDisposableStack();
    const market = await createDatabase({ url: at, schemas: [older] });
    stack.defer(() => market.close());
    const books = await Promise.all([1, 2].map(() => new MarketBook(market).open()));
    await Promise.all(books.map((one) => one.post(one.posting("deposit", 10n))));
    expect((await migrate({ url: at, schemas: [now] })).applied).toEqual(["general_ledger/0008-minimums-by-kind"]);
    for (const one of books) {
      await one.post(one.posting("release", 10n));
      await expect(one.post(one.posting("release", 1n))).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
      await expect(one.post(one.posting("payout", 11n))).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
    }
  });

  test("come with a new version unless an account is below them", async () => {
    const at = directUrl((await emptyDatabase()).url);
    await migrate({ url: at, schemas: [before.schema] });
    await using stack = new AsyncDisposableStack();
    const till = await createDatabase({ url: at, schemas: [before.schema] });
    stack.defer(() => till.close());
    const of = book.id;
    const post = (kind: "sale" | "refund", amountMinor: bigint) =>
      transaction(till.em(), async (tx) => {
        const account = { book: of, ownerId: of, currency: "EUR" };
        const [cash, revenue] = before.open(tx, [
          { ...account, kind: "cash" },
          { ...account, kind: "revenue" },
        ]);
        const [debit, credit] = kind === "sale" ? [cash, revenue] : [revenue, cash];
        return before.post(tx, { book: of, kind, debit, credit, amountMinor });
      });
    await post("refund", 5n);

    await expect(migrate({ url: at, schemas: [withMinimum(0n, 1).schema] })).rejects.toThrow(ChartChangedError);
    const account = before.account("cash", of, "EUR");
    await expect(migrate({ url: at, schemas: [withMinimum(0n, 2).schema] })).rejects.toThrow(
      `the account ${account} of the book ${of} has -5 minor units, and its minimum is 0`,
    );
    await post("refund", 5n);
    await migrate({ url: at, schemas: [withMinimum(-10n, 2).schema] });
    await expect(post("refund", 1n)).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
    await post("sale", 1n);
    await post("refund", 1n);
    await migrate({
      url: at,
      schemas: [defineChart({ accounts: ["cash", "revenue"], kinds, schema, version: 3 }).schema],
    });
    await post("refund", 1_000n);
  });

  test.each<[string, object, string]>([
    [
      "an account without a side",
      { cash: {} },
      'The normalSide of the account cash is undefined; expected "debit" or "credit".',
    ],
    ["another side", { cash: { normalSide: "left" } }, 'is "left"; expected "debit" or "credit"'],
    ["a number as a minimum", { cash: { normalSide: "debit", minimum: 0 } }, "is 0; expected a bigint of minor units"],
    ["a minimum that is too large", { cash: { normalSide: "debit", minimum: 2n ** 63n } }, "expected a bigint"],
    ["a misspelt rule", { cash: { normalSide: "debit", minimun: 0n } }, 'has the unknown rule "minimun"'],
    ["no rules", { cash: null }, "The normalSide of the account cash is undefined"],
  ])("are refused with %s", (_, rules, message) => {
    const accounts = { revenue: { normalSide: "credit" }, ...rules } as Record<"cash" | "revenue", AccountRules>;
    expect(() => defineChart({ accounts, kinds })).toThrow(InvalidChartError);
    expect(() => defineChart({ accounts, kinds })).toThrow(message);
  });
});
