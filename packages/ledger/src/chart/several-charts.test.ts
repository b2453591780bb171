import {
  createDatabase,
  type Database,
  inSchema,
  InvalidDatabaseOptionError,
  migrate,
  newId,
  SchemaNotOpenedError,
  transaction,
} from "@collections/database";
import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AccountId, type Chart, defineChart } from "../index.ts";

const TRADE = { accounts: ["cash", "revenue"], kinds: { sale: { debit: "cash", credit: "revenue" } } } as const;
const live = defineChart(TRADE);
const trial = defineChart({ ...TRADE, schema: "trial_ledger" });
const LONG_NAME = `ledger_of_${"x".repeat(53)}`;
const long = defineChart({ ...TRADE, schema: LONG_NAME });

type Trade = Chart<"cash" | "revenue", "sale">;

let url: string;
let both: Database;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  const schemas = [live.schema, trial.schema, long.schema];
  await migrate({ url, schemas });
  both = await createDatabase({ url, schemas });
});
afterAll(() => both.close());

/** Posts a sale in a new book. */
async function sell(chart: Trade, database = both): Promise<{ book: string; account: AccountId }> {
  const book = newId();
  return transaction(database.em(), async (tx) => {
    const [debit, credit] = chart.open(tx, [
      { book, kind: "cash", ownerId: book, currency: "EUR" },
      { book, kind: "revenue", ownerId: book, currency: "EUR" },
    ]);
    chart.post(tx, { book, kind: "sale", debit, credit, amountMinor: 500n, subject: book });
    return { book, account: debit };
  });
}

describe("several charts in one database", () => {
  test.each([
    ["general_ledger", live],
    ["trial_ledger", trial],
    [LONG_NAME, long],
  ])("keep their transfers apart: %s", async (schema, chart) => {
    const { book, account } = await sell(chart);
    const [sale] = await chart.transfersOf(both.em(), { book, subject: book });
    await transaction(both.em(), async (tx) => chart.correct(tx, sale!, "Trial", { amountMinor: 200n }));
    expect(await chart.balance(both.em(), { book, account })).toMatchObject({ balanceMinor: 300n });
    expect(await chart.extendChain(both.em(), book)).toMatchObject({ rows: 2 });
    expect(await chart.verify(both.em())).toMatchObject({ ok: true, counts: { transfers: 2n, blocks: 1n } });
    const { rows } = await both.pool.query(`select lender_id as book from ${schema}.transfer`);
    expect(rows).toEqual([{ book }, { book }]);
  });

  test("cannot have the same schema", async () => {
    const same = [live.schema, defineChart(TRADE).schema];
    await expect(createDatabase({ url, schemas: same })).rejects.toThrow(InvalidDatabaseOptionError);
    await expect(migrate({ url, schemas: same })).rejects.toThrow("has two schemas named general_ledger");
  });
});

describe("a chart with the Database of another chart", () => {
  let other: Database;
  let sold: Awaited<ReturnType<typeof sell>>;
  const book = newId();
  beforeAll(async () => {
    other = await createDatabase({ url, schemas: [live.schema] });
    sold = await sell(live, other);
  });
  afterAll(() => other.close());

  const account = trial.account("cash", book, "EUR");
  const accounts = [{ book, kind: "cash", ownerId: book, currency: "EUR" }] as const;
  const sale = {
    book,
    kind: "sale",
    debit: account,
    credit: trial.account("revenue", book, "EUR"),
    amountMinor: 1n,
  } as const;
  test.each<[string, () => Promise<unknown>]>([
    ["open", () => transaction(other.em(), async (tx) => trial.open(tx, accounts))],
    ["post", () => transaction(other.em(), async (tx) => trial.post(tx, sale))],
    [
      "correct",
      async () => {
        const [wrong] = await live.transfersOf(other.em(), { book: sold.book, subject: sold.book });
        return transaction(other.em(), async (tx) => trial.correct(tx, wrong!, "Trial"));
      },
    ],
    ["balance", () => trial.balance(other.em(), { book, account })],
    ["transfersOf", () => trial.transfersOf(other.em(), { book, subject: book })],
    ["verify", () => trial.verify(other.em())],
    ["extendChain", () => trial.extendChain(other.em(), sold.book)],
  ])("refuses %s, and names both schemas", async (_, call) => {
    const error = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SchemaNotOpenedError);
    expect(error).toMatchObject({
      code: "SCHEMA_NOT_OPENED",
      schema: "trial_ledger",
      message: expect.stringContaining("has the schemas general_ledger, and not trial_ledger") as string,
    });
    expect(await live.balance(other.em(), sold)).toMatchObject({ balanceMinor: 500n });
  });

  test("refuses a name that inSchema has given to the chart elsewhere", async () => {
    await using stack = new AsyncDisposableStack();
    const renamed = await createDatabase({ url, schemas: [inSchema(live.schema, "acme")] });
    stack.defer(() => renamed.close());
    await expect(live.balance(renamed.em(), sold)).rejects.toThrow("has the schemas acme, and not general_ledger");
  });
});

test("a chart with the schema acme_ledger works beside a host's own schema general_ledger", async () => {
  const at = directUrl((await emptyDatabase()).url);
  const chart = defineChart({
    accounts: ["cash", "revenue"],
    kinds: { sale: { debit: "cash", credit: "revenue" } },
    schema: "acme_ledger",
  });
  const host = await createDatabase({ url: at, schemas: [] });
  await host.pool.query("create schema general_ledger; create table general_ledger.transfer (note text)");
  await migrate({ url: at, schemas: [chart.schema] });
  const own = await createDatabase({ url: at, schemas: [chart.schema] });
  const of = newId();
  await transaction(own.em(), (tx) => {
    const account = { book: of, ownerId: of, currency: "EUR" };
    const [debit, credit] = chart.open(tx, [
      { ...account, kind: "cash" },
      { ...account, kind: "revenue" },
    ]);
    chart.post(tx, { book: of, kind: "sale", debit, credit, amountMinor: 500n, subject: of });
    return Promise.resolve();
  });
  expect(await chart.extendChain(own.em(), of, { now: new Date() })).toMatchObject({ rows: 1, head: { number: 1n } });
  expect(await chart.transfersOf(own.em(), { book: of, subject: of })).toMatchObject([
    { kind: "sale", amountMinor: 500n },
  ]);
  expect(await chart.verify(own.em(), { now: new Date() })).toMatchObject({
    ok: true,
    counts: { transfers: 1n, blocks: 1n },
  });
  await expect(host.pool.query("delete from acme_ledger.transfer")).rejects.toThrow(
    "acme_ledger.transfer is append-only",
  );
  await own.close();
  await host.close();
});
