import { testDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { operator } from "../server/service.ts";
import { growBooks } from "./grown-books.ts";

test("ledger verify finds no problem in books that SQL has grown", { tags: "many-lenders" }, async () => {
  const { url } = await testDatabase("grown", () => Promise.resolve());
  const size = { events: 60, lenders: 2, waiting: 1 };
  await growBooks({ createDatabase: () => Promise.resolve(url) }, "grown", size, () => {});
  expect(await operator(url, "ledger", "verify")).toMatchObject({ ok: true, counts: { bookings: 48 } });
});
