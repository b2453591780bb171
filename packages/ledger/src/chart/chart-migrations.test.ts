import { createDatabase, migrate, newId, transaction } from "@collections/database";
import { directUrl, emptyDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { ChartChangedError, type ChartDefinition, defineChart } from "../index.ts";

test("migrating to a new version of a chart replaces the rules, and older processes can still post", async () => {
  const at = directUrl((await emptyDatabase()).url);
  const first = defineChart({ accounts: ["cash", "revenue"], kinds: { sale: { debit: "cash", credit: "revenue" } } });
  const second = defineChart({
    accounts: ["cash", "revenue", "fees"],
    kinds: { sale: { debit: "cash", credit: "revenue" }, fee: { debit: "fees", credit: "cash" } },
    version: 2,
  });
  const of = newId();
  const openAll = async (chart: Pick<typeof second, "schema">) => {
    await migrate({ url: at, schemas: [chart.schema] });
    const own = await createDatabase({ url: at, schemas: [chart.schema] });
    return { own, [Symbol.asyncDispose]: () => own.close() };
  };
  await using older = await openAll(first);
  const sale = await transaction(older.own.em(), (tx) => {
    const [debit, credit] = first.open(tx, [
      { book: of, kind: "cash", ownerId: of, currency: "EUR" },
      { book: of, kind: "revenue", ownerId: of, currency: "EUR" },
    ]);
    const posting = { book: of, kind: "sale", debit, credit, amountMinor: 500n } as const;
    first.post(tx, posting);
    return Promise.resolve(posting);
  });
  await using newer = await openAll(second);
  await transaction(newer.own.em(), (tx) => {
    const [fees] = second.open(tx, [{ book: of, kind: "fees", ownerId: of, currency: "EUR" }]);
    second.post(tx, { book: of, kind: "fee", debit: fees, credit: sale.debit, amountMinor: 20n });
    return Promise.resolve();
  });
  await transaction(older.own.em(), (tx) => Promise.resolve(first.post(tx, sale)));
  expect((await second.balance(newer.own.em(), { book: of, account: sale.debit })).balanceMinor).toBe(980n);
  expect(await migrate({ url: at, schemas: [first.schema] })).toMatchObject({
    applied: [],
    unknown: ["general_ledger/chart-0002"],
  });
});

test.each([
  [
    "kind of transfer",
    { accounts: ["cash", "revenue"], kinds: { gift: { debit: "cash", credit: "revenue" } } },
    "the kind sale cannot leave the chart, because the number of transfers of this kind is 1",
  ],
  [
    "kind of account",
    { accounts: ["cash", "fees"], kinds: { sale: { debit: "cash", credit: "fees" } } },
    "the kind revenue cannot leave the chart, because the number of accounts of this kind is 1",
  ],
] as const)("migrate names a %s that is used and has left the chart", async (_, definition, message) => {
  const at = directUrl((await emptyDatabase()).url);
  const first = defineChart({ accounts: ["cash", "revenue"], kinds: { sale: { debit: "cash", credit: "revenue" } } });
  await migrate({ url: at, schemas: [first.schema] });
  await using stack = new AsyncDisposableStack();
  const database = await createDatabase({ url: at, schemas: [first.schema] });
  stack.defer(() => database.close());
  const of = newId();
  await transaction(database.em(), async (tx) => {
    const [debit, credit] = first.open(tx, [
      { book: of, kind: "cash", ownerId: of, currency: "EUR" },
      { book: of, kind: "revenue", ownerId: of, currency: "EUR" },
    ]);
    return first.post(tx, { book: of, kind: "sale", debit, credit, amountMinor: 500n });
  });
  const second = defineChart({ ...(definition as ChartDefinition), version: 2 });
  await expect(migrate({ url: at, schemas: [second.schema] })).rejects.toThrow(message);
});

test.each([[undefined], ["acme_ledger"]])(
  "migrate rejects a chart that changed without a new version, and accepts the same rules in another order (schema %s)",
  async (schema) => {
    const at = directUrl((await emptyDatabase()).url);
    const base = schema === undefined ? {} : { schema };
    const sale = { debit: ["cash", "bank"], credit: "revenue" } as const;
    const fee = { debit: "fees", credit: "cash" } as const;
    const accounts = ["cash", "bank", "revenue", "fees"] as const;
    await migrate({ url: at, schemas: [defineChart({ ...base, accounts, kinds: { sale, fee } }).schema] });
    const sorted = defineChart({
      ...base,
      accounts: accounts.toReversed(),
      kinds: { fee, sale: { debit: ["bank", "cash"], credit: ["revenue"] } },
    });
    expect(await migrate({ url: at, schemas: [sorted.schema] })).toEqual({ applied: [], unknown: [] });
    const changed = { ...base, accounts, kinds: { sale, fee: { debit: "fees", credit: ["cash", "bank"] } } } as const;
    const error = await migrate({ url: at, schemas: [defineChart(changed).schema] }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ChartChangedError);
    expect(error).toMatchObject({ code: "CHART_CHANGED", version: 1 });
    expect((error as Error).message).toContain("Raise its version to 2: defineChart({ …, version: 2 })");
    const next = defineChart({ ...changed, version: 2 });
    expect((await migrate({ url: at, schemas: [next.schema] })).applied).toHaveLength(1);
    expect((await migrate({ url: at, schemas: [sorted.schema] })).unknown).toHaveLength(1);
  },
);
