/**
 * Runs all tests of the folder given, by default of this repository: turbo's task `all-tests`, without the cache of
 * run-all.ts.
 */
import { resolve } from "node:path";
import { LEFT_OUT_ON_CLUSTER } from "./left-out.ts";
import { runTests } from "./run-tests.ts";

const { passed } = await runTests(resolve(process.argv[2] ?? "."), process.env, LEFT_OUT_ON_CLUSTER);
process.exitCode = passed ? 0 : 1;
