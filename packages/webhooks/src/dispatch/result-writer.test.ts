import { expect, test } from "vitest";
import { ResultWriter } from "./result-writer.ts";

const unavailable = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const rejected = Object.assign(new Error("invalid byte sequence"), { code: "22021" });

/** Creates a writer with a fake database. Also returns the batches that it wrote and the items that it is done with. */
function openWriter(write: (batch: readonly string[], attempt: number) => Promise<void>, isBusy = () => false) {
  const abort = new AbortController();
  const written: string[][] = [];
  const done: string[] = [];
  const errors: unknown[] = [];
  let attempts = 0;
  const writer = new ResultWriter<string>({
    async write(batch) {
      attempts += 1;
      await write(batch, attempts);
      written.push([...batch]);
    },
    isBusy,
    onError: (error) => errors.push(error),
    onDone: (batch) => done.push(...batch),
    abort: abort.signal,
  });
  return { writer, written, done, errors, abort };
}

test("items that come while a batch is being written go into the next batch", async () => {
  const { promise: mayWrite, resolve: writeFirst } = Promise.withResolvers<void>();
  const { writer, written, done } = openWriter(() => mayWrite);
  for (const item of ["a", "b", "c"]) writer.add(item);
  writeFirst();
  await writer.flush();
  expect(written).toEqual([["a"], ["b", "c"]]);
  expect(done).toEqual(["a", "b", "c"]);
});

test("while the writer is busy, a batch collects items until it is full or the writer is no longer busy", async () => {
  let isBusy = true;
  const { writer, written } = openWriter(
    async () => {},
    () => isBusy,
  );
  for (let item = 0; item < 200; item += 1) writer.add(String(item));
  isBusy = false;
  writer.add("last");
  await writer.flush();
  expect(written.map(({ length }) => length)).toEqual([201]);
});

test("while the writer is busy, a small batch is written after a short wait without further items", async () => {
  const { writer, written } = openWriter(
    async () => {},
    () => true,
  );
  writer.add("a");
  await writer.flush();
  expect(written).toEqual([["a"]]);
});

test("the writer of results retries until the database is available again, and loses nothing", async () => {
  const { writer, written, done, errors } = openWriter(async (_, attempt) => {
    if (attempt <= 2) throw unavailable;
  });
  writer.add("a");
  await writer.flush();
  expect(written).toEqual([["a"]]);
  expect(done).toEqual(["a"]);
  expect(errors).toEqual([unavailable, unavailable]);
});

test("the writer of results writes the other items of a batch in which PostgreSQL rejects one item", async () => {
  const { promise: mayWrite, resolve: writeFirst } = Promise.withResolvers<void>();
  const { writer, written, done } = openWriter(async (batch) => {
    await mayWrite;
    if (batch.includes("bad")) throw rejected;
  });
  for (const item of ["a", "b", "bad", "c"]) writer.add(item);
  writeFirst();
  await writer.flush();
  expect(written).toEqual([["a"], ["b"], ["c"]]);
  expect(done).toEqual(["a", "b", "bad", "c"]);
});

test("the writer of results does not wait for an unavailable database after it is aborted", async () => {
  const { writer, written, done, abort } = openWriter(() => Promise.reject(unavailable));
  writer.add("a");
  abort.abort();
  await writer.flush();
  expect(written).toEqual([]);
  expect(done).toEqual(["a"]);
});
