import { newId } from "@collections/database";
import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { CursorOfAnotherListError } from "./case-list-cursor.ts";
import type { CaseListRequest } from "./own-cases.ts";
import { encodeCursor, InvalidCursorError } from "./page.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { address, NOW, portfoliosIn, TODAY } from "../../tests/portfolios-example.ts";

const database = await casesDatabase();
const { add, allPages, hold, list, order, promise, write } = portfoliosIn(database);

describe("casesOfFieldPartner", () => {
  test("sorts by priority: due promises, no promise, later promises, blocked, ended", async () => {
    const { me, held } = await hold([
      { status: "closed", closedAt: NOW, closeReason: "withdrawn", dpd: 999 },
      { doNotContactUntil: "2026-12-01", dpd: 900 },
      { dpd: 10 },
      { dpd: 80 },
      {},
      { dpd: 5 },
      { dpd: 300 },
    ]);
    await promise(held[2]!, "2026-11-21");
    await promise(held[3]!, TODAY);
    await promise(held[5]!, "2026-11-01");
    expect(await order(me, { sort: "priority" }, held)).toEqual([3, 5, 6, 4, 2, 1, 0]);
  });

  test("sorts by days past due, by amount and by distance, with unknown values last", async () => {
    const inr = (outstandingMinor: bigint) => ({ outstandingMinor, placedMinor: outstandingMinor });
    const { me, held } = await hold([
      { dpd: 3, ...inr(100n), addresses: [address({ latitude: 19.2, longitude: 72.9 })] },
      { dpd: null, ...inr(300n) },
      { dpd: 90, ...inr(200n), addresses: [address({ latitude: 19.0761, longitude: 72.8777 })] },
      { dpd: 0, ...inr(999n), currency: currency("AED"), addresses: [address({ latitude: 28.6, longitude: 77.2 })] },
    ]);
    const near = { latitude: 19.076, longitude: 72.8777 };
    expect(await order(me, { sort: "dpd" }, held)).toEqual([2, 0, 3, 1]);
    expect(await order(me, { sort: "amount" }, held)).toEqual([3, 1, 2, 0]);
    expect(await order(me, { sort: "near", near }, held)).toEqual([2, 0, 3, 1]);
    expect(await order(me, { sort: "near", near: { ...near, radiusM: 20_000 } }, held)).toEqual([2, 0]);
  });

  test("lists each unchanged case once, even if other cases are added, removed and moved between two pages", async () => {
    for (const sort of ["priority", "dpd", "amount"] as const) {
      const { me, held } = await hold(
        Array.from({ length: 9 }, (_, n) => ({ dpd: n, outstandingMinor: BigInt(n) * 100n })),
      );
      const first = await list(me, { first: 3, sort });
      const shown = first.items.map(({ case: { id } }) => id);
      expect(shown).toEqual([8, 7, 6].map((n) => held[n]!.id));
      // A case that was listed moves to the end, the next case is taken away, and a new case goes to the top.
      const [moved, taken] = [held[7]!, held[5]!];
      await write([
        { ...moved, dpd: 0, outstandingMinor: 1n },
        { ...taken, assignedFieldPartnerId: newId() },
      ]);
      await add(me, { dpd: 99, outstandingMinor: 9_900n });
      const rest = (await allPages(me, { first: 3, sort, after: first.items.at(-1)!.cursor })).flat();
      expect(rest.filter((id) => id !== moved.id)).toEqual([4, 3, 2, 1, 0].map((n) => held[n]!.id));
    }
  });

  test("sorts all pages by the priority on the day of the first page, even after midnight", async () => {
    const { me, held } = await hold([{ dpd: 1 }, { dpd: 2 }, { dpd: 3 }]);
    await promise(held[0]!, "2026-11-21");
    const first = await list(me, { first: 2 });
    const tomorrow = new Date("2026-11-21T10:00:00Z");
    const second = await list(me, { first: 2, after: first.items.at(-1)!.cursor }, tomorrow);
    expect([...first.items, ...second.items].map(({ case: { id } }) => id)).toEqual([2, 1, 0].map((n) => held[n]!.id));
    expect((await list(me, { first: 1 }, tomorrow)).items[0]!.case.id).toBe(held[0]!.id);
  });
});

describe("a cursor", () => {
  test("throws CursorOfAnotherListError if its list had a different sort, filter, search or location", async () => {
    const { me } = await hold([{}, {}]);
    const { cursor } = (await list(me, { first: 1, filter: { workable: true } })).items[0]!;
    const others: Partial<CaseListRequest>[] = [
      {},
      { filter: { workable: false } },
      { filter: { workable: true }, sort: "dpd" },
      { filter: { workable: true }, search: "rao" },
      { filter: { workable: true }, near: { latitude: 1, longitude: 1 } },
    ];
    for (const other of others) {
      await expect(list(me, { ...other, after: cursor })).rejects.toThrow(CursorOfAnotherListError);
    }
    expect((await list(me, { filter: { workable: true }, after: cursor })).items).toHaveLength(1);
  });

  test.each(["", "x", "%%%", encodeCursor({ id: newId() }), encodeCursor({ id: "1' or '1'='1" })])(
    "%j throws InvalidCursorError",
    async (after) => {
      await expect(list(newId(), { after })).rejects.toThrow(InvalidCursorError);
    },
  );
});
