import { verifyBooks } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { loanEvents } from "../fixtures/loan-events.ts";
import { expectEventsInOrder } from "./fixtures/events-in-order.ts";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService();
  lender = await aLender(service);
});

function payment(fields: object = {}) {
  return { amount: 2500, reference: "pay_1", paidAt: "2026-11-20T09:40:55Z", mode: "upi", ...fields };
}

describe("concurrent payment confirmations", () => {
  test("are booked once if all 24 are identical, and the other 23 are answered as repeats", async () => {
    await lender.importCases([aRow("RACE-1")]);
    const answers = await Promise.all(Array.from({ length: 24 }, () => lender.confirm("RACE-1", payment())));
    const booked = answers.filter(({ status }) => status === 200);
    const repeats = answers.filter(({ status }) => status === 409);
    expect([booked.length, repeats.length]).toEqual([1, 23]);
    for (const { body } of repeats) expect(body["original"]).toMatchObject(booked[0]!.body);
    expect(new Set(repeats.map(({ body }) => JSON.stringify(body["original"]))).size).toBe(1);
  });

  test("of 100 payments of one loan add up exactly, and leave no gap in the sequence numbers", async () => {
    await lender.importCases([aRow("RACE-2", { outstandingAmount: 1_000 })]);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        lender.confirm("RACE-2", payment({ reference: `r${index}`, amount: 9.99 })),
      ),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const sequences = answers.map(({ body }) => Number(body["sequence"])).toSorted((a, b) => a - b);
    expect(sequences).toEqual(Array.from({ length: 100 }, (_, index) => index + 2));
    expect((await lender.getCase("RACE-2")).body).toMatchObject({
      totalCollected: 999,
      outstandingAfter: 1,
      sequence: 101,
    });
  });

  test("close a case exactly once if 30 payments are concurrent", async () => {
    await lender.importCases([aRow("RACE-3", { outstandingAmount: 300 })]);
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        lender.confirm("RACE-3", payment({ reference: `r${index}`, amount: 20 })),
      ),
    );
    const kinds = (await loanEvents(service, lender.code, "RACE-3")).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "case.closed")).toHaveLength(1);
    expect((await lender.getCase("RACE-3")).body).toMatchObject({
      totalCollected: 600,
      outstandingAfter: 0,
      excessAmount: 300,
      sequence: 32,
    });
  });

  test("are booked for other loans while some loans are locked", async () => {
    const other = await aLender(service);
    await lender.importCases(["HELD-1", "HELD-2", "HELD-3"].map((loan) => aRow(loan)));
    await other.importCases([aRow("FREE-1")]);
    const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
    const holder = await service.app.database.pool.connect();
    await holder.query("begin");
    await holder.query(
      "select from cases.collection_case where lender_id = $1 and source_loan_number like 'HELD-%' for update",
      [id],
    );
    const waiting = ["HELD-1", "HELD-2", "HELD-3"].map((loan) => lender.confirm(loan, payment()));
    const free = await Promise.all(
      [1, 2, 3].map((n) => other.confirm("FREE-1", payment({ reference: `r${n}`, amount: n }))),
    );
    expect(free.map(({ status }) => status)).toEqual([200, 200, 200]);
    await holder.query("rollback");
    holder.release();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("are booked exactly once if two processes receive the same payment", async () => {
    const second = await startTestService({ hasWorker: false, settings: { DATABASE_URL: service.databaseUrl } });
    await lender.importCases([aRow("RACE-4", { outstandingAmount: 10_000 })]);
    const before = service.url;
    const both = Array.from({ length: 60 }, (_, index) => {
      lender.connect({ serviceUrl: index % 2 === 0 ? before : second.url });
      return lender.confirm("RACE-4", payment({ reference: `r${index % 30}`, amount: 1 }));
    });
    lender.connect({ serviceUrl: before });
    const statuses = (await Promise.all(both)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(30);
    expect(statuses.filter((status) => status === 409)).toHaveLength(30);
    expect((await lender.getCase("RACE-4")).body).toMatchObject({ totalCollected: 30, sequence: 31 });
  });
});

test("after all confirmations of this file the books are correct, and every event was delivered in order", async () => {
  expect(await verifyBooks(service.app.database.em(), { now: new Date() })).toMatchObject({ ok: true, problems: [] });
  await expectEventsInOrder(service, lender, ["RACE-1", "RACE-2", "RACE-3"]);
});
