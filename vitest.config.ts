import { existsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { hasProgram } from "./tooling/bundle/tests/has-program.ts";
import { ChromiumMissingError, findChromium } from "./tooling/browser/src/executable.ts";
import { hasPooler } from "./tooling/postgres/src/start-pooler.ts";
import { LEFT_OUT_ON_CLUSTER, testTags } from "./tooling/testing/src/left-out.ts";
import { POLL_LIMIT_MS, TEST_LIMIT_MS } from "./tooling/testing/src/limits.ts";
import { LongFilesFirst } from "./tooling/testing/src/long-files-first.ts";
import { resultsReporter } from "./tooling/testing/src/results-reporter.ts";
import { SummaryReporter } from "./tooling/testing/src/summary-reporter.ts";

// The workers and the processes that tests start inherit it. With the compiled code of an earlier process, Node imports our
// packages in two thirds of the time.
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache");

export default defineConfig(({ mode }) => ({
  // What Node itself would load: else two copies of graphql meet, one by require and one by import.
  ssr: { resolve: { conditions: ["node", "module-sync"] } },
  test: {
    include: ["{packages,services,sites,tooling}/*/{src,tests}/**/*.test.ts"],
    exclude: [
      ...configDefaults.exclude,
      ...withoutBrowser(),
      ...withoutPooler(),
      ...withoutPrograms(),
      ...withoutCluster(mode),
    ],
    globalSetup: "tooling/testing/src/global-setup.ts",
    setupFiles: ["tooling/testing/src/drop-after-file.ts", "packages/database/tests/no-future-ids.ts"],
    reporters: ["default", new SummaryReporter(LEFT_OUT_ON_CLUSTER), ...resultsReporter(LEFT_OUT_ON_CLUSTER)],
    pool: "forks",
    // The test files of a worker share the modules that they import, because importing takes most of the time
    // otherwise. They share nothing else: each file has a database of its own.
    isolate: false,
    sequence: { sequencer: LongFilesFirst },
    // Tests wait for databases, processes and browsers, so two workers use only two thirds of two processors.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: TEST_LIMIT_MS,
    expect: { poll: { timeout: POLL_LIMIT_MS } },
    tags: testTags(mode),
  },
}));

/** CI has pgbouncer too. */
function withoutPooler(): string[] {
  if (process.env["CI"] || hasPooler()) return [];
  process.stderr.write("There is no pgbouncer on this machine: apt-get install pgbouncer. Its tests are not run.\n");
  return ["**/pooler.test.ts", "**/*.pooler.test.ts"];
}

/** The Debian package of each program that single test files need, and these files. */
const PROGRAMS = {
  promtool: ["prometheus", "**/alerts.promtool.test.ts"],
  "systemd-analyze": ["systemd", "**/units.systemd.test.ts"],
  nginx: ["nginx", "**/behind-nginx.test.ts"],
  haproxy: ["haproxy", "**/behind-haproxy.test.ts"],
} as const;

/** CI has these programs too, see .ci/run. Only root's PATH contains the folder of nginx and HAProxy. */
function withoutPrograms(): string[] {
  return Object.entries(PROGRAMS).flatMap(([name, [debianPackage, tests]]) => {
    if (process.env["CI"] || hasProgram(name) || existsSync(`/usr/sbin/${name}`)) return [];
    process.stderr.write(
      `There is no ${name} on this machine: apt-get install ${debianPackage}. Its test is not run.\n`,
    );
    return [tests];
  });
}

/** Tests of several nodes run only on a cluster. */
function withoutCluster(mode: string): string[] {
  return mode === "citus" ? [] : ["**/*.cluster.test.ts"];
}

/** CI has Chromium, see .ci/run. Elsewhere nobody has to install a browser to run the other tests. */
function withoutBrowser(): string[] {
  try {
    findChromium(process.env);
    return [];
  } catch (error) {
    if (process.env["CI"] || !(error instanceof ChromiumMissingError)) return [];
    process.stderr.write(`${error.message} The tests *.browser.test.ts are not run.\n`);
    return ["**/*.browser.test.ts"];
  }
}
