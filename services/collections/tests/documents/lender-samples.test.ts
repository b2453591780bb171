import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SIGNING_CASES, type SigningCase } from "./fixtures/signing-cases.ts";

const SAMPLES = fileURLToPath(new URL("../../../../docs/lenders/samples/", import.meta.url));

/** How to build and run the check program of a sample, and the commands it needs with their Debian packages. */
interface Language {
  readonly name: string;
  readonly needs: Readonly<Record<string, string>>;
  /** The command that compiles the program into the folder `to`. */
  readonly build?: (from: string, to: string) => string[];
  readonly run: (from: string, to: string) => string[];
}

const LANGUAGES: readonly Language[] = [
  { name: "bash", needs: { bash: "bash", openssl: "openssl" }, run: (from) => ["bash", join(from, "check.sh")] },
  { name: "node", needs: {}, run: (from) => [process.execPath, join(from, "check.mjs")] },
  { name: "python", needs: { python3: "python3" }, run: (from) => ["python3", "-B", join(from, "check.py")] },
  { name: "php", needs: { php: "php-cli" }, run: (from) => ["php", join(from, "check.php")] },
  {
    name: "java",
    needs: { javac: "default-jdk-headless", java: "default-jdk-headless" },
    build: (from, to) => ["javac", "-d", to, join(from, "Signing.java"), join(from, "Check.java")],
    run: (_from, to) => ["java", "-cp", to, "Check"],
  },
  {
    name: "go",
    needs: { go: "golang-go" },
    build: (from, to) => ["go", "build", "-o", join(to, "check"), join(from, "signing.go"), join(from, "check.go")],
    run: (_from, to) => [join(to, "check")],
  },
  {
    name: "csharp",
    needs: { mcs: "mono-mcs", mono: "mono-runtime" },
    build: (from, to) => ["mcs", `-out:${join(to, "check.exe")}`, join(from, "Signing.cs"), join(from, "Check.cs")],
    run: (_from, to) => ["mono", join(to, "check.exe")],
  },
  { name: "ruby", needs: { ruby: "ruby" }, run: (from) => ["ruby", join(from, "check.rb")] },
];

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lender-samples-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test.for(LANGUAGES)(
  "the lender sample in $name signs and verifies as the contract says",
  async ({ needs, ...language }, { skip }) => {
    const missing = await missingPackages(needs);
    // Skip a language that is not installed: developers need not install eight languages to run the tests. Do not skip
    // it in CI, which has all languages, see .ci/run.
    if (missing.length > 0 && !process.env["CI"]) {
      process.stderr.write(`The sample in ${language.name} is not run: install ${missing.join(" ")}.\n`);
      skip();
    }
    expect(missing, "Debian packages to install").toEqual([]);
    expect(await answersOf(language)).toEqual(
      SIGNING_CASES.map(({ name, signature, genuine }) => `${name}: ${signature} ${genuine}`),
    );
  },
);

/** Runs a sample's check program with all signing cases, and returns the lines that it prints, one for each case. */
async function answersOf({ name, build, run: command }: Omit<Language, "needs">): Promise<string[]> {
  const from = join(SAMPLES, name);
  if (build) await run(...withArguments(build(from, folder)));
  const child = spawn(...withArguments(command(from, folder)), { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(SIGNING_CASES.map(inputOf).join(""));
  const [output] = await Promise.all([child.stdout.toArray(), once(child, "exit")]);
  const lines = Buffer.concat(output as Buffer[])
    .toString()
    .trim()
    .split("\n");
  return lines.map((line, index) => `${SIGNING_CASES[index]?.name}: ${line}`);
}

/** Returns a signing case in the format that the check programs read. */
function inputOf({ secret, method, path, timestamp, body, received, nowMs }: SigningCase): string {
  const fields = [secret, method, path, timestamp, body.toString("base64"), received, String(nowMs)];
  return fields.map((field) => `${field}\0`).join("");
}

function withArguments([command = "", ...args]: string[]): [command: string, args: string[]] {
  return [command, args];
}

async function missingPackages(needs: Readonly<Record<string, string>>): Promise<string[]> {
  const found = await Promise.all(Object.keys(needs).map(isInstalled));
  return [...new Set(Object.values(needs).filter((_, index) => !found[index]))];
}

async function isInstalled(command: string): Promise<boolean> {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const checks = folders.map((each) => access(join(each, command), constants.X_OK));
  return (await Promise.allSettled(checks)).some(({ status }) => status === "fulfilled");
}
