import { newId } from "@collections/database";
import { beforeEach, describe, expect, test } from "vitest";
import { MarketBook, marketDatabase, marketplace } from "../../tests/marketplace.ts";
import type { AccountStatementQuery } from "../index.ts";

const database = await marketDatabase();
let book: MarketBook;

const day = (number: number) => new Date(Date.UTC(2026, 10, number));

beforeEach(async () => {
  book = await new MarketBook(database).open();
  await book.post(
    { ...book.posting("deposit", 1_000n), effectiveAt: day(1) },
    { ...book.posting("deposit", 500n), effectiveAt: day(3) },
    { ...book.posting("release", 700n), effectiveAt: day(3) },
    { ...book.posting("deposit", 20n), effectiveAt: day(2) },
  );
});

function statementOf(changes: Partial<AccountStatementQuery> = {}) {
  return marketplace.accountStatement(database.em(), { book: book.id, account: book.escrow, ...changes });
}

async function rows(changes: Partial<AccountStatementQuery> = {}) {
  const { openingMinor, entries, closingMinor } = await statementOf(changes);
  return [openingMinor, entries.map(({ changeMinor, balanceMinor }) => [changeMinor, balanceMinor]), closingMinor];
}

describe("the statement of an account", () => {
  test("has the running balance in the order of effectiveAt", async () => {
    expect(await rows()).toEqual([
      0n,
      [
        [-1_000n, -1_000n],
        [-20n, -1_020n],
        [-500n, -1_520n],
        [700n, -820n],
      ],
      -820n,
    ]);
    const { entries, next } = await statementOf();
    expect(entries[1]).toMatchObject({ kind: "deposit", effectiveAt: day(2), debit: book.bank, credit: book.escrow });
    expect(next).toBeUndefined();
  });

  test("begins with the balance before `from`, and ends before `until`", async () => {
    expect(await rows({ from: day(2), until: day(3) })).toEqual([-1_000n, [[-20n, -1_020n]], -1_020n]);
    expect(await rows({ from: day(4) })).toEqual([-820n, [], -820n]);
    expect(await rows({ until: day(1) })).toEqual([0n, [], 0n]);
  });

  test("is the same in pages of each size", async () => {
    for (const limit of [1, 2, 3, 4]) {
      const found: bigint[] = [];
      let after: string | undefined;
      do {
        const page = await statementOf({ limit, ...(after !== undefined && { after }) });
        expect(page.openingMinor).toBe(found.at(-1) ?? 0n);
        found.push(...page.entries.map(({ balanceMinor }) => balanceMinor));
        after = page.next;
      } while (after !== undefined);
      expect(found).toEqual([-1_000n, -1_020n, -1_520n, -820n]);
    }
  });

  test("continues with the closing balance after a transfer of an earlier day", async () => {
    const first = await statementOf({ limit: 2 });
    await book.post({ ...book.posting("deposit", 5n), effectiveAt: day(1) });
    const second = await statementOf({ limit: 2, after: first.next! });
    expect(second).toMatchObject({ openingMinor: -1_020n, closingMinor: -820n });
  });

  test("refuses the next of another account", async () => {
    const { next } = await statementOf({ account: book.bank, limit: 1 });
    await expect(statementOf({ after: next! })).rejects.toMatchObject({ code: "PAGE_INVALID" });
  });

  test.each<[string, object, string]>([
    ["a limit of 0", { limit: 0 }, "PAGE_INVALID"],
    ["a limit of 1,001", { limit: 1_001 }, "PAGE_INVALID"],
    ["a text as a limit", { limit: "10" }, "PAGE_INVALID"],
    ["an after that no page had", { after: "next" }, "PAGE_INVALID"],
    ["a number as after", { after: 7 }, "PAGE_INVALID"],
    ["a text as a time", { from: "2026-11-01" }, "TIME_INVALID"],
    ["an invalid time", { until: new Date(Number.NaN) }, "TIME_INVALID"],
    ["an account of another chart", { account: "cash/x/EUR" }, "ACCOUNT_UNKNOWN"],
    ["another book", { book: newId() }, "ACCOUNT_NOT_OPEN"],
  ])("refuses %s", async (_, changes, code) => {
    await expect(statementOf(changes)).rejects.toMatchObject({ name: "InvalidPostingError", code });
  });
});

describe("balanceAt", () => {
  const at = (time: Date) => marketplace.balanceAt(database.em(), { book: book.id, account: book.escrow, at: time });

  test("sums the transfers before a time", async () => {
    expect(await at(day(1))).toEqual({ debitMinor: 0n, creditMinor: 0n, balanceMinor: 0n });
    expect(await at(day(3))).toEqual({ debitMinor: 0n, creditMinor: 1_020n, balanceMinor: -1_020n });
    expect(await at(day(4))).toEqual({ debitMinor: 700n, creditMinor: 1_520n, balanceMinor: -820n });
  });

  test("refuses a text as a time", async () => {
    await expect(at("2026-11-01" as never)).rejects.toMatchObject({ code: "TIME_INVALID" });
  });
});

describe("transfersOf", () => {
  const page = (changes: object = {}) =>
    marketplace.transfersOf(database.em(), { book: book.id, subject: book.id, ...changes });

  test("returns page after page", async () => {
    const all = await page();
    expect(all).toHaveLength(4);
    const first = await page({ limit: 3 });
    expect([...first, ...(await page({ limit: 3, after: first.at(-1)!.id }))]).toEqual(all);
  });

  test("refuses to return more than 10,000 transfers without pages", async () => {
    const postings = Array.from({ length: 10_001 }, () => book.posting("deposit", 1n, book.bank.split("/")[1]));
    const subject = newId();
    await book.post(...postings.map((posting) => ({ ...posting, subject })));
    const asked = marketplace.transfersOf(database.em(), { book: book.id, subject });
    await expect(asked).rejects.toMatchObject({
      code: "PAGE_INVALID",
      message: expect.stringContaining("ask for pages with limit and after") as string,
    });
    expect(await page({ subject, limit: 10_000 })).toHaveLength(10_000);
  });

  test.each([
    ["a limit of 0", { limit: 0 }],
    ["a limit of 10,001", { limit: 10_001 }],
    ["an after that is no id", { after: "next" }],
  ])("refuses %s", async (_, changes) => {
    await expect(page(changes)).rejects.toMatchObject({ code: "PAGE_INVALID" });
  });
});

describe("the metadata of a transfer", () => {
  test("is stored and hashed with it", async () => {
    const metadata = { order: "A-7", lines: [{ n: 1, text: 'Tap\\u0000 \\ "x" ñ' }], paid: true, tip: null };
    const [id] = await book.post({ ...book.posting("deposit", 5n), metadata });
    const found = await marketplace.transfersOf(database.em(), { book: book.id, subject: book.id });
    expect(found.find((transfer) => transfer.id === id)?.metadata).toEqual(metadata);
    expect(found[0]!.metadata).toBeNull();
    expect(await marketplace.verify(database.em(), { book: book.id })).toMatchObject({ ok: true });
  });

  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  test.each<[string, unknown, string]>([
    ["a text", "x", 'is "x"; expected an object, or null'],
    ["a list", [1], "expected an object, or null"],
    ["a Date", new Date(0), "expected an object, or null"],
    ["more than 4,000 characters", { x: "x".repeat(4_000) }, "has 4008 characters as JSON; expected at most 4000"],
    ["a bigint", { x: 1n }, "cannot be written as JSON"],
    ["a cycle", cycle, "cannot be written as JSON"],
    ["NUL", { x: "a\0b" }, "NUL"],
    ["half of a surrogate pair", { x: "\ud800" }, "half of a surrogate pair"],
    ["NUL in a name", { "a\0": 1 }, "NUL"],
  ])("is refused if it is or has %s", async (_, metadata, message) => {
    const posting = { ...book.posting("deposit", 5n), metadata: metadata as never };
    await expect(book.post(posting)).rejects.toMatchObject({
      code: "METADATA_INVALID",
      message: expect.stringContaining(message) as string,
    });
  });
});
