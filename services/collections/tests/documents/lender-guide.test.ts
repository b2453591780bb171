import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { migrate } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { withDirectUrl } from "../fixtures/processes.ts";

/** The pages in the order in which a reader pastes their commands into one shell. */
const PAGES = [
  "guide.md",
  "lists.md",
  "receiver.md",
  "retries.md",
  "errors.md",
  "reversals.md",
  "reconcile.md",
  "keys.md",
];
/** Pages that a reader may begin with. They need only the function of the guide's first step. */
const BEGINNINGS = ["reversals.md", "reconcile.md"];
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

const MINT_TOKEN = "a-token-of-yours";
/**
 * Numeric fields whose values differ between runs. In a string, the guide shows an ellipsis for the part that differs.
 */
const VOLATILE_NUMBERS = new Set(["skewMs", "durationMs"]);

interface Block {
  /** The HTTP status that the page shows above the answer's JSON, such as "HTTP 200". */
  readonly status: string | undefined;
  /** The text after the opening fence: the language, sometimes followed by another word such as "run". */
  readonly info: string;
  readonly text: string;
}

/** A command of a page, and the answer that the page shows for it. */
interface Step {
  readonly page: string;
  readonly script: string;
  readonly shown: Block | undefined;
}

const documents = await Promise.all(
  PAGES.map(async (page) => {
    const text = await readFile(new URL(`../../../../docs/lenders/${page}`, import.meta.url), "utf8");
    return { page, text, blocks: blocksOf(text) };
  }),
);
const guide = documents[0]!;
const steps = documents.flatMap(({ page, blocks }) =>
  blocks.flatMap(({ info, text }, index): Step[] => {
    const next = blocks[index + 1];
    return info === "bash run" ? [{ page, script: text, shown: next && isAnswer(next) ? next : undefined }] : [];
  }),
);

const run = promisify(execFile);
const processes: ChildProcess[] = [];
let folder: string;
let printed: string[];
/** What the commands of each of the `BEGINNINGS` print for a lender that has not read the guide. */
const printedAlone = new Map<string, string[]>();
let lender: StartedProgram;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lender-guide-"));
  const { url } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobsSchema, jobs: true });
  });
  const settings = {
    ...withDirectUrl({ DATABASE_URL: url }),
    PORT: "0",
    MASTER_KEY: "c".repeat(64),
    OUTBOUND_ALLOW: "127.0.0.1:*",
    LOG_LEVEL: "warn",
  };
  const [service, { apiKeyId, hmacSecret }] = await Promise.all([
    start([MAIN], settings, /ready at (\S+)$/m),
    collections(settings, "lender", "create", "--code", "ACME", "--name", "Acme Finance", "--currency", "INR"),
  ]);

  // Starts the lender's server from step 4 of the guide and registers its URLs.
  const file = join(folder, "lender.mjs");
  await writeFile(file, guide.blocks.find(({ info }) => info === "js file=lender.mjs")!.text);
  lender = await start([file], { HMAC_SECRET: hmacSecret!, MINT_TOKEN, PORT: "0" }, /listening on (\S+)$/m);
  const urls = ["--callback-url", `${lender.found}/hooks/collections`, "--mint-link-url", `${lender.found}/mint-link`];
  await collections(settings, "lender", "update", "ACME", ...urls, "--mint-auth-header", `X-Mint-Token: ${MINT_TOKEN}`);

  printed = await runInOneShell(steps, {
    ...settings,
    BASE_URL: service.found,
    API_KEY_ID: apiKeyId!,
    HMAC_SECRET: hmacSecret!,
    LENDER_URL: lender.found,
    MINT_TOKEN,
  });
  for (const [index, page] of BEGINNINGS.entries()) {
    const created = ["--code", `NEW${index}`, "--name", "New Finance", "--currency", "INR"];
    const key = await collections(settings, "lender", "create", ...created);
    const env = { ...settings, BASE_URL: service.found, API_KEY_ID: key["apiKeyId"]!, HMAC_SECRET: key["hmacSecret"]! };
    const [, ...answers] = await runInOneShell([steps[0]!, ...steps.filter((step) => step.page === page)], env);
    printedAlone.set(page, answers);
  }
});

afterAll(async () => {
  await Promise.all(
    processes.map(async (child) => {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    }),
  );
  await rm(folder, { recursive: true, force: true });
});

test("the lender guide has eleven steps, each with a runnable command", () => {
  const sections = guide.text.split(/^## /m).slice(1);
  const numbered = sections.filter((section) => /^\d/.test(section));
  expect(numbered.map((section) => Number.parseInt(section, 10))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(sections.slice(0, 11)).toEqual(numbered);
  for (const section of numbered) expect(blocksOf(section).map(({ info }) => info)).toContain("bash run");
});

test("every command of the lender guide is followed by its answer, except the one that defines functions", () => {
  expect(steps.filter(({ shown }) => shown === undefined)).toEqual([steps[0]]);
});

test.each(steps.flatMap(({ shown, ...step }, index) => (shown ? [{ ...step, shown, index }] : [])))(
  "$page: command $index prints what the page shows: $script",
  ({ shown, index }) => {
    const expected = answerShown(shown);
    expect(masked(answerPrinted(shown, printed[index]!), expected)).toEqual(expected);
  },
);

test.each(BEGINNINGS)("%s prints what it shows to a reader who begins with it", (page) => {
  for (const [index, { shown, script }] of steps.filter((step) => step.page === page).entries()) {
    const expected = answerShown(shown!);
    expect(masked(answerPrinted(shown!, printedAlone.get(page)![index]!), expected), script).toEqual(expected);
  }
});

test("the lender guide's receiver has received every event, in order and once", async () => {
  const shown = guide.blocks
    .find(({ info }) => info === "text received")!
    .text.trim()
    .split("\n");
  // Compare only as many lines as the guide shows. The receiver prints more lines, because the commands on the other
  // pages cause later events.
  const receivedLines = () => lender.lines().filter((line) => !/^(listening|link) /.test(line));
  await expect.poll(() => masked(receivedLines().slice(0, shown.length), shown)).toEqual(shown);
});

function blocksOf(text: string): Block[] {
  return [...text.matchAll(/(?:^`(HTTP \d+)`\n\n)?^```(.+)\n([\s\S]*?)^```$/gm)].map(
    ([, status, info = "", inner = ""]) => ({ status, info, text: inner }),
  );
}

function isAnswer({ info }: Block): boolean {
  return info === "text" || info === "json";
}

/**
 * Returns the answer that a page shows: JSON as a value, with the HTTP status if there is one; other text unchanged.
 */
function answerShown({ status, info, text }: Block): unknown {
  return info === "json" ? { status, body: JSON.parse(text) as unknown } : text.trim();
}

/** Returns the output of a command in the same form as `answerShown`. curl prints the status after the body. */
function answerPrinted({ status, info }: Block, output: string): unknown {
  const lines = output.trim().split("\n");
  if (info !== "json") return lines.join("\n");
  const [body, printedStatus] = status === undefined ? [lines, undefined] : [lines.slice(0, -1), lines.at(-1)];
  return { status: printedStatus, body: JSON.parse(body.join("\n")) as unknown };
}

interface StartedProgram {
  /** The part of the output that the first group of `until` matched. */
  readonly found: string;
  /** The lines that the program has printed so far. */
  lines(): string[];
}

/** Starts a Node program and resolves when its output matches `until`. */
async function start(args: string[], env: Record<string, string>, until: RegExp): Promise<StartedProgram> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  let output = "";
  const found = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const match = until.exec(output);
      if (match) resolve(match[1]!);
    });
    child.once("exit", (code) => reject(new Error(`${args[0]} exited with ${code} before it was ready.`)));
  });
  return { found, lines: () => output.trim().split("\n") };
}

async function collections(env: Record<string, string>, ...args: string[]): Promise<Record<string, string>> {
  const { stdout } = await run(process.execPath, [CLI, ...args, "--json"], {
    env: { PATH: process.env["PATH"], ...env },
  });
  return JSON.parse(stdout) as Record<string, string>;
}

/** Runs all commands in one shell and returns the output of each. */
async function runInOneShell(commands: readonly Step[], env: Record<string, string>): Promise<string[]> {
  const end = "=== end of command ===";
  const file = join(folder, "guide.sh");
  const pnpm = `pnpm() { shift; '${process.execPath}' --disable-warning=ExperimentalWarning '${CLI}' "$@"; }\n`;
  const pasted = commands.map(({ script }) => `${script}\necho; echo '${end}'\n`);
  await writeFile(file, pnpm + pasted.join(""));
  const { stdout, stderr } = await run("bash", [file], { env: { PATH: process.env["PATH"], ...env } });
  expect(stderr).toBe("");
  return stdout.split(`${end}\n`);
}

/** Returns the actual value. Every part that may differ between runs is replaced by the value that the guide shows. */
function masked(actual: unknown, shown: unknown, key = ""): unknown {
  if (typeof shown === "string") {
    const isText = typeof actual === "string" || shown === "…";
    return isText && matches(String(actual), shown) ? shown : actual;
  }
  if (typeof shown === "number") return typeof actual === "number" && VOLATILE_NUMBERS.has(key) ? shown : actual;
  if (Array.isArray(actual) && Array.isArray(shown)) return actual.map((value, index) => masked(value, shown[index]));
  if (!isObject(actual) || !isObject(shown)) return actual;
  return Object.fromEntries(Object.entries(actual).map(([name, value]) => [name, masked(value, shown[name], name)]));
}

function matches(actual: string, shown: string): boolean {
  const pattern = shown.split("…").map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&"));
  return new RegExp(`^${pattern.join(".+")}$`, "s").test(actual);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
