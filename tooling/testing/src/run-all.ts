/** The program behind `pnpm test` and `pnpm verify`; see the README of this package. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { delimiter, join } from "node:path";
import { Client } from "pg";
import { keepPass, keptPass } from "./keep-pass.ts";
import { LEFT_OUT_ON_CLUSTER } from "./left-out.ts";
import { runTests } from "./run-tests.ts";

/** Has the report of each passed run, under the hash of its tree. */
const PASSES = ".turbo/passed-tests";
/** The report of the last run of all tests, which .ci/run repeats at its end. */
const REPORT = ".turbo/test-report.txt";
/** Turbo leaves these variables out of the hash, so the tests do not get them. */
const UNHASHED = /^(npm_|pnpm_|PNPM_)/;

const [first, ...others] = process.argv.slice(2);

if (first === undefined) {
  await runAll(await tree());
} else if (first === "--unless-passed" && others.length === 0) {
  const present = await tree();
  const report = keptPass(PASSES, present.hash);
  if (report === undefined) await runAll(present);
  else process.stdout.write(`cache hit: all tests have passed on this tree. The report of that run:\n${report}`);
} else {
  await vitest([first, ...others]);
}

/** Runs all tests. If they pass and the tree has not changed, keeps the report. */
async function runAll(before: Tree): Promise<void> {
  rmSync(REPORT, { force: true });
  const hashed = Object.entries(process.env).filter(([name]) => !UNHASHED.test(name));
  const { passed, report } = await runTests(process.cwd(), Object.fromEntries(hashed), LEFT_OUT_ON_CLUSTER);
  mkdirSync(".turbo", { recursive: true });
  writeFileSync(REPORT, `${report.join("\n")}\n`);
  process.exitCode = passed ? 0 : 1;
  if (!passed) return;

  const after = await tree();
  if (keepPass(PASSES, before.hash, after.hash, report)) return;
  process.stderr.write(
    `The tree changed while the tests ran, so this result is not kept: pnpm verify will run them again. Changed: ${changes(before, after)}\n`,
  );
}

/** Runs vitest in the root of the repository. Its exit code becomes this process's. */
async function vitest(args: string[]): Promise<void> {
  const child = spawn("vitest", ["run", ...args], { stdio: "inherit", shell: isWindows() });
  // Ignore the interrupt. The terminal sends it to the child too, and the child has to clean up before this process
  // ends.
  process.on("SIGINT", () => {});
  const [code] = (await once(child, "close")) as [number | null];
  process.exitCode = code ?? 1;
}

interface Tree {
  hash: string;
  /** A hash of each file, by path. */
  files: Readonly<Record<string, string>>;
}

/** Returns the present files and environment, hashed by turbo. */
async function tree(): Promise<Tree> {
  const env = {
    ...process.env,
    TEST_SURROUNDINGS: await surroundings(),
    TURBO_TELEMETRY_DISABLED: "1",
    DO_NOT_TRACK: "1",
  };
  const options = { env, encoding: "utf8", shell: isWindows(), maxBuffer: 1 << 28 } as const;
  const { status, stdout, stderr } = spawnSync("turbo", ["run", "all-tests", "--dry=json"], options);
  if (status !== 0) throw new Error(`turbo failed to list the inputs of the tests: ${stderr}`);
  const { tasks } = JSON.parse(stdout) as { tasks: { hash: string; inputs: Record<string, string> }[] };
  const [task] = tasks;
  return { hash: task!.hash, files: task!.inputs };
}

/** Names the first files that differ. */
function changes({ files: before }: Tree, { files: after }: Tree): string {
  const names = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
  return names.slice(0, 10).join(", ") || "no file, but the environment or the programs in PATH.";
}

/**
 * Returns a hash of what tests may depend on outside the tree. It changes if a program in a folder of PATH is installed,
 * removed or changed, and if DATABASE_URL leads to another version of PostgreSQL.
 */
async function surroundings(): Promise<string> {
  const folders = (process.env["PATH"] ?? "").split(delimiter).map((folder) => [folder, programsIn(folder)]);
  const server = process.env["DATABASE_URL"] ? await versionOf(process.env["DATABASE_URL"]) : undefined;
  return createHash("sha256")
    .update(JSON.stringify([process.version, release(), folders, server]))
    .digest("hex");
}

/**
 * Returns the programs of a folder with their sizes and times. The time of the folder itself is no sign of a change:
 * some tools write into such a folder at each start of a shell, for example pyenv, and so while the tests run.
 */
function programsIn(folder: string): readonly unknown[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).toSorted();
  return names.map((name) => {
    const program = statSync(join(folder, name), { throwIfNoEntry: false });
    return [name, program?.size, program?.mtimeMs];
  });
}

async function versionOf(url: string): Promise<string> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>("select version()");
    return rows[0]!.version;
  } catch (error) {
    throw new Error("No PostgreSQL answers at DATABASE_URL.", { cause: error });
  } finally {
    await client.end();
  }
}

function isWindows(): boolean {
  return process.platform === "win32";
}
