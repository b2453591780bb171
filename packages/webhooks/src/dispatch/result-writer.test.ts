import { expect, test } from "vitest";
import { ResultWriter } from "./result-writer.ts";

const away = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const refused = Object.assign(new Error("invalid byte sequence"), { code: "22021" });

/** A writer over a database of a test's own making, with what it wrote and what it was done with. */
function openWriter(write: (batch: readonly string[], attempt: number) => Promise<void>, isBusy = () => false) {
  const giveUp = new AbortController();
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
    giveUp: giveUp.signal,
  });
  return { writer, written, done, errors, giveUp };
}

test("what comes while a batch is out goes with the next one", async () => {
  const { promise: mayWrite, resolve: writeFirst } = Promise.withResolvers<void>();
  const { writer, written, done } = openWriter(() => mayWrite);
  for (const item of ["a", "b", "c"]) writer.add(item);
  writeFirst();
  await writer.flush();
  expect(written).toEqual([["a"], ["b", "c"]]);
  expect(done).toEqual(["a", "b", "c"]);
});

test("while more is about to come a batch gathers, until it is full or nothing more is about to come", async () => {
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

test("a batch that gathers in vain is written all the same", async () => {
  const { writer, written } = openWriter(
    async () => {},
    () => true,
  );
  writer.add("a");
  await writer.flush();
  expect(written).toEqual([["a"]]);
});

test("a database that is away is tried until it is back, and nothing is lost", async () => {
  const { writer, written, done, errors } = openWriter(async (_, attempt) => {
    if (attempt <= 2) throw away;
  });
  writer.add("a");
  await writer.flush();
  expect(written).toEqual([["a"]]);
  expect(done).toEqual(["a"]);
  expect(errors).toEqual([away, away]);
});

test("one item that is refused does not take its batch with it", async () => {
  const { promise: mayWrite, resolve: writeFirst } = Promise.withResolvers<void>();
  const { writer, written, done } = openWriter(async (batch) => {
    await mayWrite;
    if (batch.includes("bad")) throw refused;
  });
  for (const item of ["a", "b", "bad", "c"]) writer.add(item);
  writeFirst();
  await writer.flush();
  expect(written).toEqual([["a"], ["b"], ["c"]]);
  expect(done).toEqual(["a", "b", "bad", "c"]);
});

test("once told to give up, it does not wait for a database that is away", async () => {
  const { writer, written, done, giveUp } = openWriter(() => Promise.reject(away));
  writer.add("a");
  giveUp.abort();
  await writer.flush();
  expect(written).toEqual([]);
  expect(done).toEqual(["a"]);
});
