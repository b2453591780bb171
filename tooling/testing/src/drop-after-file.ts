/** A setup file: drops what a test file made after all its tests, wherever in the file it was made. */
import { afterAll } from "vitest";
import { dropOpenDatabases } from "./open-databases.ts";

// Hooks run in reverse order, so those of the test file have closed its connections by then.
afterAll(dropOpenDatabases);
