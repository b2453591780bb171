/** A setup file: after all tests of a file it ends what they began and drops what they made. */
import { afterAll } from "vitest";
import { endFile } from "./after-file.ts";

// Hooks run in reverse order, so those of the test file itself have run by then.
afterAll(endFile);
