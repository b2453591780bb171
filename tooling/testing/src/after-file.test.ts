import { afterAll, beforeAll, expect, test } from "vitest";
import { afterFile } from "./index.ts";

const done: string[] = [];

beforeAll(() => afterFile(() => done.push("asked for by a hook")));

test("afterFile callbacks of hooks and tests run after the file, in reverse order", () => {
  afterFile(() => {
    done.push("asked for by a test");
    expect(done).toEqual(["of the file itself", "asked for by a test"]);
  });
  expect(done).toEqual([]);
});

afterAll(() => void done.push("of the file itself"));
