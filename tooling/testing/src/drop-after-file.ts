/** A vitest setup file: runs the `afterFile` callbacks after all tests of a file. */
import { afterAll } from "vitest";
import { endFile } from "./after-file.ts";

// Hooks run in reverse order, so the hooks of the test file itself run first.
afterAll(endFile);
