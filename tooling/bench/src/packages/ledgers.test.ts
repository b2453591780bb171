import { randomUUID } from "node:crypto";
import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { startHandLedger } from "./hand-ledger.ts";
import { type Account, accountsOf, type LedgerProgram, type Transfer } from "./ledger-program.ts";
import { startOurLedger } from "./our-ledger.ts";
import { fundPurses, postingOf, type Workload } from "./postings.ts";

const ACCOUNTS = 5;
const start = {
  "@collections/ledger": startOurLedger,
  "a ledger by hand with stored balances": (url: string, count: number) => startHandLedger(url, count, "stored"),
  "a ledger by hand with summed balances": (url: string, count: number) => startHandLedger(url, count, "summed"),
};
type Name = keyof typeof start;
const names = Object.keys(start) as Name[];

async function opened(name: Name): Promise<{ ledger: LedgerProgram; url: string }> {
  const url = directUrl((await emptyDatabase()).url);
  const ledger = await start[name](url, ACCOUNTS);
  onTestFinished(() => ledger.close());
  return { ledger, url };
}

const bank: Account = { kind: "bank", index: 0 };
const wallet = (index: number): Account => ({ kind: "wallet", index });
const purse = (index: number): Account => ({ kind: "purse", index });
const balances = (ledger: LedgerProgram) => Promise.all(accountsOf(ACCOUNTS).map((account) => ledger.balance(account)));

test("all ledgers have the same balances after the same postings", async () => {
  const workloads: Workload[] = ["spread", "shared", "limited"];
  const postings = Array.from({ length: 30 }, (_, index) => postingOf(workloads[index % 3]!, ACCOUNTS));
  const found = [];
  for (const name of names) {
    const { ledger } = await opened(name);
    await fundPurses(ledger, ACCOUNTS);
    for (const posting of postings) await ledger.post(randomUUID(), posting);
    expect(await ledger.checkedTransfers()).toBe(ACCOUNTS + 60);
    found.push(await balances(ledger));
  }
  expect(found[0]!.filter((balance) => balance !== 0).length).toBeGreaterThan(ACCOUNTS);
  expect(found[1]).toEqual(found[0]);
  expect(found[2]).toEqual(found[0]);
});

describe.each(names)("%s", (name) => {
  const posting: Transfer[] = [
    { from: bank, to: wallet(0), amountMinor: 500 },
    { from: wallet(0), to: wallet(1), amountMinor: 20 },
  ];

  test("posts once for a key, also at the same time", async () => {
    const { ledger } = await opened(name);
    await Promise.all(Array.from({ length: 4 }, () => ledger.post("payment 1", posting)));
    expect(await ledger.checkedTransfers()).toBe(2);
    expect(await ledger.balance(wallet(0))).toBe(480);
  });

  test("refuses a key of other transfers", async () => {
    const { ledger } = await opened(name);
    await ledger.post("payment 1", posting);
    await expect(ledger.post("payment 1", posting.slice(1))).rejects.toThrow("was used for other");
    expect(await ledger.checkedTransfers()).toBe(2);
  });

  test("posts concurrently without a deadlock", async () => {
    const { ledger } = await opened(name);
    await fundPurses(ledger, ACCOUNTS);
    const workloads: Workload[] = ["spread", "shared", "limited"];
    await ledger.during(() =>
      Promise.all(
        Array.from({ length: 90 }, (_, index) => ledger.post(randomUUID(), postingOf(workloads[index % 3]!, ACCOUNTS))),
      ),
    );
    expect(await ledger.checkedTransfers()).toBe(ACCOUNTS + 180);
    expect((await balances(ledger)).reduce((sum, balance) => sum + balance)).toBe(0);
  });

  test("never takes a purse below 0 if it keeps minimums", async () => {
    const { ledger } = await opened(name);
    await ledger.post("fund", [{ from: bank, to: purse(0), amountMinor: 100 }]);
    const spend = (key: string) => ledger.post(key, [{ from: purse(0), to: purse(1), amountMinor: 60 }]);
    const outcomes = await Promise.allSettled(["a", "b", "c"].map(spend));
    const posted = ledger.keepsMinimums ? 1 : 3;
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(posted);
    expect(await ledger.balance(purse(0))).toBe(100 - posted * 60);
    expect(await ledger.checkedTransfers()).toBe(1 + posted);
  });
});

test("checkedTransfers of a ledger by hand finds a wrong balance", async () => {
  const { ledger, url } = await opened("a ledger by hand with stored balances");
  await ledger.post("payment 1", [{ from: bank, to: wallet(3), amountMinor: 500 }]);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("update account set balance = balance + 1 where name = 'wallet/3'");
  await client.end();
  await expect(ledger.checkedTransfers()).rejects.toThrow("of 1 accounts, such as wallet/3");
});
