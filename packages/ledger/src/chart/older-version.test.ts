import { createDatabase, migrate, newId } from "@collections/database";
import { directUrl, emptyDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { invoicing } from "../../tests/invoicing.ts";

const schemas = [invoicing.schema];

/** How a process of the version before minimums and holds writes transfers. */
const INSERT = `insert into general_ledger.transfer (lender_id, id, debit_account, credit_account, amount_minor, currency,
    kind, subject_id, corrects, memo, effective_at, recorded_at)
  select $1, unnest($2::uuid[]), $3, $4, 5, 'EUR', 'invoice', null, null, '', now(), now()`;

test("transfers of an older process count before and after the migration", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const isNew = (name: string) => /^000[4-8]/.test(name);
  const before = {
    ...invoicing.schema,
    migrations: invoicing.schema.migrations.filter(({ name }) => !isNew(name)),
  };
  await migrate({ url, schemas: [before] });
  await using stack = new AsyncDisposableStack();
  const database = await createDatabase({ url, schemas });
  stack.defer(() => database.close());
  const [book, owner] = [newId(), newId()];
  await database.pool.query(
    `insert into general_ledger.account (lender_id, id, kind, owner_id, currency, exponent, created_at)
     select $1, kind || '/' || $2 || '/EUR', kind, $2::uuid, 'EUR', 2, now()
     from unnest(array['receivable', 'revenue']) kind`,
    [book, owner],
  );
  const [debit, credit] = (["receivable", "revenue"] as const).map((kind) => invoicing.account(kind, owner, "EUR"));
  const post = (count: number) =>
    database.pool.query(INSERT, [book, Array.from({ length: count }, () => newId()), debit, credit]);
  await post(300);

  const { applied } = await migrate({ url, schemas });
  expect(applied.map((name) => name.split("/")[1])).toEqual([
    "0004-balances",
    "0005-metadata",
    "0006-holds",
    "0007-minimums",
    "0008-minimums-by-kind",
  ]);
  // As many as a further snapshot needs, because transactions of other databases may keep these from the first one.
  await post(200);
  const balance = () => invoicing.balance(database.em(), { book, account: debit! });
  expect(await balance()).toMatchObject({ debitMinor: 2_500n, creditMinor: 0n });

  const covered = async () => {
    await invoicing.extendChain(database.em(), book);
    const { rows } = await database.pool.query<{ minor: string }>(
      "select debit_minor as minor from general_ledger.balance_snapshot where account = $1",
      [debit],
    );
    return rows[0]?.minor;
  };
  await expect.poll(covered).toBe("2500");
  await post(1);
  expect(await balance()).toMatchObject({ debitMinor: 2_505n });
  const { entries, closingMinor } = await invoicing.accountStatement(database.em(), {
    book,
    account: debit!,
    limit: 1_000,
  });
  expect([entries.length, closingMinor]).toEqual([501, 2_505n]);
  expect(await invoicing.verify(database.em())).toMatchObject({ ok: true, problems: [] });
});
