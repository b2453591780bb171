/** The program behind `pnpm test` and `pnpm verify`; see the README of this package. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { release } from "node:os";
import { delimiter, join } from "node:path";
import { Client } from "pg";
import { keepPass } from "./keep-pass.ts";

const CACHE = ".turbo/cache";
const ALL_TESTS = ["run", "all-tests"];

const [first, ...others] = process.argv.slice(2);

if (first === undefined) {
  await runAll();
} else if (first === "--unless-passed" && others.length === 0) {
  if ((await tree()).hasPassed) await run("turbo", [...ALL_TESTS, "--log-prefix=none", "--cache=local:r", inCache()]);
  else await runAll();
} else {
  await run("vitest", ["run", first, ...others]);
}

/** Runs all tests. If they pass and the tree has not changed, caches the result. */
async function runAll(): Promise<void> {
  mkdirSync(".turbo", { recursive: true });
  const written = mkdtempSync(".turbo/run-");
  try {
    await run("turbo", [...ALL_TESTS, "--log-prefix=none", "--force", `--cache-dir=${written}`]);
    if (process.exitCode !== 0 || keepPass(written, CACHE, (await tree()).hash)) return;
    process.stderr.write(
      "The tree changed while the tests ran, so this result is not kept: pnpm verify will run them again.\n",
    );
  } finally {
    rmSync(written, { recursive: true, force: true });
  }
}

/** Runs a tool of the repository in its root. The tool's exit code becomes this process's. */
async function run(tool: string, args: string[]): Promise<void> {
  const child = spawn(tool, args, { env: await environment(), stdio: "inherit", shell: isWindows() });
  // Ignore the interrupt. The terminal sends it to the child too, and the child has to clean up before this process
  // ends.
  process.on("SIGINT", () => {});
  const [code] = (await once(child, "close")) as [number | null];
  process.exitCode = code ?? 1;
}

/** Returns the hash of the present files and environment, and whether the tests have already passed on them. */
async function tree(): Promise<{ hash: string; hasPassed: boolean }> {
  const options = { env: await environment(), encoding: "utf8", shell: isWindows(), maxBuffer: 1 << 28 } as const;
  const { status, stdout, stderr } = spawnSync("turbo", [...ALL_TESTS, "--dry=json", inCache()], options);
  if (status !== 0) throw new Error(`turbo failed to list the inputs of the tests: ${stderr}`);
  const { tasks } = JSON.parse(stdout) as { tasks: { hash: string; cache: { status: string } }[] };
  const [task] = tasks;
  return { hash: task!.hash, hasPassed: task!.cache.status === "HIT" };
}

function inCache(): string {
  return `--cache-dir=${CACHE}`;
}

async function environment(): Promise<NodeJS.ProcessEnv> {
  return {
    ...process.env,
    TEST_SURROUNDINGS: await surroundings(),
    TURBO_TELEMETRY_DISABLED: "1",
    DO_NOT_TRACK: "1",
  };
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
