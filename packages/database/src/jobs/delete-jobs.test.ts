import { directUrl, emptyDatabase } from "@collections/testing";
import { expect, onTestFinished, test } from "vitest";
import { createDatabase, deleteJobs, enqueue, migrate, queue, transaction } from "../index.ts";

const reminders = queue<{ invoiceId: string; to?: string }>("billing.reminders", {
  retryLimit: 1,
  expireInSeconds: 60,
});
const receipts = queue<{ invoiceId: string }>("billing.receipts", { retryLimit: 1, expireInSeconds: 60 });
const schemas = [{ name: "billing", migrations: [], queues: [reminders, receipts] }];

async function opened(jobs: boolean) {
  const url = directUrl((await emptyDatabase()).url);
  await migrate({ url, schemas, jobs });
  const database = await createDatabase({ url, schemas });
  onTestFinished(() => database.close());
  return database;
}

test("deleteJobs deletes only jobs of the queue whose data contain all fields", async () => {
  const database = await opened(true);
  await transaction(database.em(), async (tx) => {
    await enqueue(tx, reminders, { invoiceId: "INV-1" });
    await enqueue(tx, reminders, { invoiceId: "INV-1", to: "ops@acme.example" });
    await enqueue(tx, reminders, { invoiceId: "INV-2" });
    await enqueue(tx, receipts, { invoiceId: "INV-1" });
  });
  expect(await deleteJobs(database.em(), reminders, { invoiceId: "INV-1", to: "ops@acme.example" })).toBe(1);
  expect(await deleteJobs(database.em(), reminders, { invoiceId: "INV-1" })).toBe(1);
  expect(await deleteJobs(database.em(), reminders, { invoiceId: "INV-1" })).toBe(0);
  const { rows } = await database.pool.query("select name, data from collections_jobs.job order by name");
  expect(rows).toEqual([
    { name: "billing.receipts", data: { invoiceId: "INV-1" } },
    { name: "billing.reminders", data: { invoiceId: "INV-2" } },
  ]);
});

test("deleteJobs of a transaction that is rolled back deletes nothing", async () => {
  const database = await opened(true);
  await transaction(database.em(), (tx) => enqueue(tx, reminders, { invoiceId: "INV-1" }));
  const broken = transaction(database.em(), async (tx) => {
    expect(await deleteJobs(tx, reminders, { invoiceId: "INV-1" })).toBe(1);
    throw new Error("change of mind");
  });
  await expect(broken).rejects.toThrow("change of mind");
  expect(await deleteJobs(database.em(), reminders, { invoiceId: "INV-1" })).toBe(1);
});

test("deleteJobs returns 0 in a database without pg-boss", async () => {
  const database = await opened(false);
  expect(await deleteJobs(database.em(), reminders, { invoiceId: "INV-1" })).toBe(0);
});

test("deleteJobs rejects an object without fields", async () => {
  const database = await opened(true);
  await expect(deleteJobs(database.em(), reminders, {})).rejects.toThrow("pass at least one field");
});
