import { newId, transaction } from "@collections/database";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { MarketBook, marketDatabase, marketplace } from "../../tests/marketplace.ts";
import type { ChartHold } from "../index.ts";

const HOUR_MS = 3_600_000;
const database = await marketDatabase();
let book: MarketBook;

beforeEach(async () => {
  book = await new MarketBook(database).open();
  await book.post(book.posting("deposit", 1_000n));
});

function hold(amountMinor: bigint, changes: object = {}): Promise<string> {
  const expiresAt = new Date(Date.now() + HOUR_MS);
  const held = { ...book.posting("release", amountMinor), expiresAt, ...changes } as ChartHold<"release">;
  return transaction(database.em(), async (tx) => marketplace.hold(tx, held));
}

function postHold(id: string, part?: { amountMinor: bigint }): Promise<string> {
  return transaction(database.em(), (tx) => marketplace.postHold(tx, { book: book.id, hold: id }, part));
}

function voidHold(id: string): Promise<void> {
  return transaction(database.em(), (tx) => marketplace.voidHold(tx, { book: book.id, hold: id }));
}

function balance(account = book.escrow) {
  return marketplace.balance(database.em(), { book: book.id, account });
}

describe("a hold", () => {
  test("is held and moves nothing until it is posted", async () => {
    const id = await hold(600n, { memo: "Tap", metadata: { job: 7 } });
    expect(await balance()).toMatchObject({ balanceMinor: -1_000n, heldDebitMinor: 600n, heldCreditMinor: 0n });
    expect(await balance(book.earnings)).toMatchObject({ balanceMinor: 0n, heldCreditMinor: 600n });
    const [pending] = await marketplace.pendingHolds(database.em(), { book: book.id, account: book.earnings });
    expect(pending).toMatchObject({ id, kind: "release", amountMinor: 600n, memo: "Tap", metadata: { job: 7 } });

    const transferId = await postHold(id);
    expect(await balance()).toMatchObject({ balanceMinor: -400n, heldDebitMinor: 0n });
    const transfers = await marketplace.transfersOf(database.em(), { book: book.id, subject: book.id });
    expect(transfers.at(-1)).toMatchObject({
      id: transferId,
      kind: "release",
      amountMinor: 600n,
      memo: "Tap",
      metadata: { job: 7 },
    });
    expect(await marketplace.pendingHolds(database.em(), { book: book.id, account: book.escrow })).toEqual([]);
    expect(await marketplace.verify(database.em(), { book: book.id })).toMatchObject({ ok: true });
  });

  test("takes from what an account with a minimum has", async () => {
    await hold(600n);
    await expect(book.post(book.posting("release", 401n))).rejects.toMatchObject({
      code: "BELOW_MINIMUM",
      message: expect.stringContaining("would have -1 minor units beside the 600 that are held") as string,
    });
    await expect(hold(401n)).rejects.toMatchObject({ code: "BELOW_MINIMUM" });
    await book.post(book.posting("release", 400n));
  });

  test("of which a part is posted releases the rest", async () => {
    await postHold(await hold(600n), { amountMinor: 100n });
    expect(await balance()).toMatchObject({ balanceMinor: -900n, heldDebitMinor: 0n });
    await hold(900n);
  });

  test("that is voided releases its amount", async () => {
    const id = await hold(1_000n);
    await voidHold(id);
    await book.post(book.posting("release", 1_000n));
    await expect(postHold(id)).rejects.toMatchObject({ code: "HOLD_ENDED" });
  });

  test("that has expired holds nothing, and cannot be posted", async () => {
    const id = await hold(1_000n, { expiresAt: new Date(Date.now() + 200) });
    await expect.poll(async () => (await balance()).heldDebitMinor).toBe(0n);
    await expect(postHold(id)).rejects.toMatchObject({
      code: "HOLD_EXPIRED",
      message: expect.stringContaining("it expired at") as string,
    });
    await book.post(book.posting("release", 1_000n));
    await voidHold(id);
  });

  test("ends once if it is posted and voided at once", async () => {
    const id = await hold(600n);
    const ends = Array.from({ length: 10 }, (_, index) => (index % 2 ? voidHold(id) : postHold(id)));
    const outcomes = await Promise.allSettled(ends);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: "HOLD_ENDED" });
    expect((await balance()).heldDebitMinor).toBe(0n);
  });

  test("beside many others holds no more than the account has", async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => hold(150n)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(6);
    expect((await balance()).heldDebitMinor).toBe(900n);
  });

  test.each<[string, (id: string) => Promise<unknown>, string]>([
    ["posting an unknown hold", () => postHold(newId()), "HOLD_UNKNOWN"],
    ["voiding an unknown hold", () => voidHold(newId()), "HOLD_UNKNOWN"],
    ["posting more than the amount", (id) => postHold(id, { amountMinor: 501n }), "AMOUNT_INVALID"],
    ["posting nothing", (id) => postHold(id, { amountMinor: 0n }), "AMOUNT_INVALID"],
    ["an id that is no UUID", () => postHold("hold-1"), "ID_INVALID"],
    ["a hold of the past", () => hold(1n, { expiresAt: new Date(0) }), "TIME_INVALID"],
    ["a hold without an end", () => hold(1n, { expiresAt: undefined }), "TIME_INVALID"],
    ["a hold with effectiveAt", () => hold(1n, { effectiveAt: new Date() }), "FIELD_UNKNOWN"],
    ["a hold of nothing", () => hold(0n), "AMOUNT_INVALID"],
    ["a hold of an unknown kind", () => hold(1n, { kind: "gift" }), "KIND_UNKNOWN"],
  ])("refuses %s, and changes nothing", async (_, act, code) => {
    const id = await hold(500n);
    await expect(act(id)).rejects.toMatchObject({ name: "InvalidPostingError", code });
    expect(await balance()).toMatchObject({ balanceMinor: -1_000n, heldDebitMinor: 500n });
  });

  test("of another book is unknown", async () => {
    const id = await hold(500n);
    const other = await new MarketBook(database).open();
    const posting = transaction(database.em(), (tx) => marketplace.postHold(tx, { book: other.id, hold: id }));
    await expect(posting).rejects.toMatchObject({ code: "HOLD_UNKNOWN" });
  });

  test("is reported by verify if its transfer was forged", async () => {
    const id = await hold(500n);
    await postHold(id, { amountMinor: 400n });
    await withoutTriggers(database.pool, (client) =>
      client.query("update general_ledger.hold set amount_minor = 399 where id = $1", [id]),
    );
    const { problems } = await marketplace.verify(database.em(), { book: book.id });
    expect(problems).toMatchObject([{ code: "HOLD_MISMATCH", table: "hold", id }]);
  });
});
