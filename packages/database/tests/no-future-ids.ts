/**
 * A vitest setup file: fails a test file that has made ids of a future time. The test files of one worker share `newId`,
 * whose ids never go back. A later file would make ids of that future time too, and lists up to the present would not
 * have its rows.
 */
import { afterAll } from "vitest";
import { firstIdAt, newId } from "../src/ids.ts";

const TOLERANCE_MS = 1_000;

afterAll(() => {
  if (newId() < firstIdAt(new Date(Date.now() + TOLERANCE_MS))) return;
  throw new Error(
    "This file made ids of a future time. Do not set the clock of this process forward: start another process instead.",
  );
});
