import { expect, test } from "vitest";
import { progressText } from "./import-progress.ts";

test.each([
  [
    { rows: 1_000_000, rowsDone: 312_000, from: 0, seconds: 60 },
    "312,000 of 1,000,000 rows, 5,200 a second, 2 min 13 s left",
  ],
  [{ rows: 5_000, rowsDone: 4_000, from: 2_000, seconds: 1 }, "4,000 of 5,000 rows, 2,000 a second, 1 s left"],
  [{ rows: 5_000, rowsDone: 5_000, from: 0, seconds: 2 }, "5,000 of 5,000 rows, 2,500 a second, 0 s left"],
])("shows the progress %o as rows, rate and time left", (at, text) => expect(progressText(at)).toBe(text));
