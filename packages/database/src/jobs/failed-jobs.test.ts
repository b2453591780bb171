import { directUrl, emptyDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { createDatabase, enqueue, failedJobs, migrate, queue, transaction } from "../index.ts";

const options = { expireInSeconds: 60 };
const mails = queue<{ to: string }>("test.mails", { ...options, retryLimit: 1 });
/**
 * Allows more retries than the test can use up, so that a job that always fails is still retried when the test ends.
 */
const letters = queue<{ to: string }>("test.letters", { ...options, retryLimit: 100_000 });
const calls = queue<{ to: string }>("test.calls", { ...options, retryLimit: 5 });
const schemas = [{ name: "test", entities: [], migrations: [], queues: [mails, letters, calls] }];

test("failedJobs lists a job that has failed for good and a job that is retried often, with their errors", async () => {
  const { url } = await emptyDatabase();
  await migrate({ url: directUrl(url), schemas, jobs: true });
  await using opened = new AsyncDisposableStack();
  const database = await createDatabase({ url, schemas, works: true });
  opened.defer(() => database.close());
  opened.defer(() => database.jobs.stop(60_000));
  expect(await failedJobs(database.em())).toEqual([]);

  await transaction(database.em(), async (tx) => {
    await enqueue(tx, mails, { to: "nobody" });
    await enqueue(tx, letters, { to: "nobody" });
    await enqueue(tx, calls, { to: "somebody" });
  });
  const refuse = (what: string) => () => Promise.reject(new Error(`The ${what} was refused.`));
  await database.jobs.work(mails, { concurrency: 1 }, refuse("mail"));
  await database.jobs.work(letters, { concurrency: 1 }, refuse("letter"));
  await database.jobs.work(calls, { concurrency: 1 }, ({ attempt }) =>
    attempt === 1 ? Promise.reject(new Error("Busy.")) : Promise.resolve(),
  );
  await expect
    .poll(() => failedJobs(database.em()))
    .toEqual([
      {
        queue: "test.letters",
        state: "retrying",
        count: 1,
        attempts: expect.toSatisfy((attempts: number) => attempts >= 4) as number,
        lastError: "Error: The letter was refused.",
      },
      { queue: "test.mails", state: "failed", count: 1, attempts: 2, lastError: "Error: The mail was refused." },
    ]);
});
