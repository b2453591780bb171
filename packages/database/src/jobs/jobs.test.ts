import { directUrl, emptyDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { createDatabase, enqueue, enqueueAll, inSchema, migrate, queue, transaction } from "../index.ts";

test("jobs run in a database whose package has a renamed schema, although the queue is named after the schema", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const reminders = queue<{ invoiceId: string }>("billing.remind", { retryLimit: 1, expireInSeconds: 60 });
  const billing = { name: "billing", entities: [], migrations: [], queues: [reminders] };
  const schemas = [inSchema(billing, "acme_billing")];
  await migrate({ url, schemas, jobs: true });
  const database = await createDatabase({ url, schemas, works: true });
  const reminded: string[] = [];
  await database.jobs.work(reminders, { concurrency: 1 }, async ({ data }) => void reminded.push(data.invoiceId));
  await transaction(database.em(), async (tx) => {
    await enqueue(tx, reminders, { invoiceId: "INV-1" });
    await enqueueAll(tx, reminders, [{ data: { invoiceId: "INV-2" }, startAfter: new Date() }]);
  });
  await expect.poll(() => reminded.toSorted()).toEqual(["INV-1", "INV-2"]);
  await database.jobs.stop(60_000);
  await database.close();
});

test("a job with startAfterSeconds starts that many seconds later by the clock of PostgreSQL", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const reminders = queue<{ invoiceId: string }>("billing.remind-later", { retryLimit: 1, expireInSeconds: 60 });
  const schemas = [{ name: "billing", migrations: [], queues: [reminders] }];
  await migrate({ url, schemas, jobs: true });
  const database = await createDatabase({ url, schemas });
  const invoiceId = "INV-1";
  await transaction(database.em(), (tx) => enqueue(tx, reminders, { invoiceId }, { startAfterSeconds: 90 }));
  const { rows } = await database.pool.query<{ seconds: number }>(
    "select extract(epoch from start_after - created_on)::int as seconds from collections_jobs.job",
  );
  expect(rows).toEqual([{ seconds: 90 }]);
  await database.close();
});
