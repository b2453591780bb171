import { createDatabase, migrate, requireReady } from "@collections/database";
import { directUrl, emptyDatabase } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { defineChart, LedgerElsewhereError } from "../index.ts";

const TRADE = { accounts: ["cash", "revenue"], kinds: { sale: { debit: "cash", credit: "revenue" } } } as const;
const trade = defineChart(TRADE);
const renamed = defineChart({ ...TRADE, schema: "acme_ledger" });
const loyalty = defineChart({
  accounts: ["issued", "points"],
  kinds: { grant: { debit: "issued", credit: "points" } },
  schema: "loyalty",
});

let url: string;

beforeEach(async () => {
  url = directUrl((await emptyDatabase()).url);
});

async function schemasOfCharts(): Promise<string[]> {
  const { pool, close } = await createDatabase({ url, schemas: [] });
  const text = "select relnamespace::regnamespace::text as name from pg_class where relname = 'posting_key' order by 1";
  const { rows } = await pool.query<{ name: string }>(text);
  await close();
  return rows.map(({ name }) => name);
}

describe("a database with a ledger in general_ledger", () => {
  beforeEach(async () => void (await migrate({ url, schemas: [trade.schema] })));

  test("refuses the chart under another name, and makes no ledger", async () => {
    const error = await migrate({ url, schemas: [renamed.schema] }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LedgerElsewhereError);
    expect(error).toMatchObject({ code: "LEDGER_ELSEWHERE", schema: "acme_ledger", existing: ["general_ledger"] });
    expect((error as Error).message).toContain('keep its name: defineChart({ …, schema: "general_ledger" })');
    expect(await schemasOfCharts()).toEqual(["general_ledger"]);
  });

  test("is not ready for the chart under another name", async () => {
    await using stack = new AsyncDisposableStack();
    const database = await createDatabase({ url, schemas: [renamed.schema] });
    stack.defer(() => database.close());
    await expect(requireReady(database, renamed.schema)).rejects.toMatchObject({
      name: "NotReadyError",
      code: "MIGRATION_REFUSED",
      cause: expect.any(LedgerElsewhereError) as Error,
    });
  });

  test("takes another chart that is passed with the first one", async () => {
    await migrate({ url, schemas: [trade.schema, loyalty.schema] });
    expect(await schemasOfCharts()).toEqual(["general_ledger", "loyalty"]);
    expect(await migrate({ url, schemas: [loyalty.schema] })).toEqual({ applied: [], unknown: [] });
    expect(await migrate({ url, schemas: [trade.schema] })).toEqual({ applied: [], unknown: [] });
  });

  test("takes a chart with another: true alone", async () => {
    const further = defineChart({ ...TRADE, schema: "trial_ledger", another: true });
    await migrate({ url, schemas: [further.schema] });
    await migrate({ url, schemas: [further.schema] });
    expect(await schemasOfCharts()).toEqual(["general_ledger", "trial_ledger"]);
  });

  test("refuses the same new name from two processes at once", async () => {
    const both = await Promise.allSettled([1, 2].map(() => migrate({ url, schemas: [renamed.schema] })));
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await schemasOfCharts()).toEqual(["general_ledger"]);
  });
});

test("an empty database takes a chart of any name", async () => {
  await migrate({ url, schemas: [renamed.schema] });
  expect(await schemasOfCharts()).toEqual(["acme_ledger"]);
});

test("defineChart rejects another that is not a boolean", () => {
  expect(() => defineChart({ ...TRADE, another: "yes" as never })).toThrow('another is "yes"; expected true or false');
});
