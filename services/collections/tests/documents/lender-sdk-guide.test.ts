import { changeLender, onboardLender } from "@collections/flows";
import { HEADERS, sign } from "@collections/lender-sdk";
import { emptyDatabase, until } from "@collections/testing";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestService } from "../fixtures/fixture.ts";

const PAGES = ["sdk.md", "lists.md"].map((page) =>
  readFile(new URL(`../../../../docs/lenders/${page}`, import.meta.url), "utf8"),
);
const GUIDE = (await Promise.all(PAGES)).join("\n");
const SAMPLES = fileURLToPath(new URL("../../../../docs/lenders/samples/sdk/", import.meta.url));
/** The samples that call the service, in the order in which they run. */
const CALLS = ["confirm.mjs", "compare.mjs", "reverse.mjs"];
/** Packages that the samples import. */
const PACKAGES = ["@collections/lender-sdk", "express", "pg"];

const processes: ChildProcess[] = [];
let folder: string;
let databaseUrl: string;
const printed = new Map<string, string[]>();
let receiver: Program;
let key: { apiKeyId: string; hmacSecret: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lender-sdk-guide-"));
  await Promise.all([installPackages(), cp(SAMPLES, folder, { recursive: true })]);
  const { app, url } = await startTestService();
  const onboarding = { vault: app.vault, allow: app.config.outboundAllow, environment: app.config.environment };
  const acme = { code: "ACME", name: "Acme Finance", currency: "INR" };
  const { lender, ...issued } = await onboardLender(app.database.em(), onboarding, acme);
  key = issued;

  databaseUrl = await createLenderDatabase();
  const settings = { BASE_URL: url, API_KEY_ID: key.apiKeyId, HMAC_SECRET: key.hmacSecret, DATABASE_URL: databaseUrl };
  receiver = start("receiver.mjs", { ...settings, PORT: "0" });
  const callbackUrl = `${await receiver.found(/listening on (\S+)/)}/hooks/collections`;
  await changeLender(app.database.em(), onboarding, lender.id, { callbackUrl });

  for (const file of CALLS) {
    const program = start(file, settings);
    await program.ended();
    printed.set(file, program.lines());
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

test.each(CALLS)("the pages about the SDK and about lists show the real output of %s", (file) => {
  const shown = shownOutput(file);
  const masked = printed.get(file)!.map((line, index) => (isLike(line, shown[index] ?? "") ? shown[index] : line));
  expect(masked).toEqual(shown);
});

test("the SDK guide shows the real output of its receiver, and the receiver stores its data", async () => {
  await expect.poll(() => receiver.lines().slice(1)).toEqual(shownOutput("receiver.mjs"));
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const loans = await client.query("select * from loan");
  const mails = await client.query("select loan, text from mail_to_send");
  await client.end();
  expect(loans.rows).toEqual([{ number: "LN-1001", status: "in_progress", owed: "5000.1", collected: "0" }]);
  expect(mails.rows).toEqual([
    { loan: "LN-1001", text: "We have received your payment of 2500.05 INR." },
    { loan: "LN-1001", text: "Your payment of 2500.05 INR was returned." },
  ]);
});

test("the SDK guide's mint endpoint returns a link for a correct signature and 401 for a wrong one", async () => {
  const url = `${await receiver.found(/listening on (\S+)/)}/mint-link`;
  const body = JSON.stringify({ sourceLoanNumber: "LN-1001", amount: 100 });
  const timestamp = String(Date.now());
  async function mint(secret: string): Promise<{ status: number; body: unknown }> {
    const headers = {
      "Idempotency-Key": "e1",
      [HEADERS.keyId]: key.apiKeyId,
      [HEADERS.timestamp]: timestamp,
      [HEADERS.signature]: sign({ secret, method: "POST", path: "/mint-link", timestamp, body }),
    };
    const response = await fetch(url, { method: "POST", headers, body });
    return { status: response.status, body: await response.json() };
  }
  const link = { linkId: "plink_e1", url: "https://pay.acme.example/l/plink_e1" };
  expect(await mint(key.hmacSecret)).toEqual({ status: 200, body: { success: true, link } });
  expect(await mint("sk_sandbox_other")).toMatchObject({ status: 401, body: { success: false } });
});

async function installPackages(): Promise<void> {
  for (const name of PACKAGES) {
    const to = join(folder, "node_modules", name);
    await mkdir(dirname(to), { recursive: true });
    await symlink(fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url)), to);
  }
}

/** Creates a database with the tables of the SDK and of the guide. */
async function createLenderDatabase(): Promise<string> {
  const { url } = await emptyDatabase();
  const sdk = await readFile(new URL(import.meta.resolve("@collections/lender-sdk/receiver.sql")), "utf8");
  const [, own = ""] = /^```sql\n([\s\S]*?)^```$/m.exec(GUIDE) ?? [];
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sdk + own);
  await client.end();
  return url;
}

interface Program {
  lines(): string[];
  /** Waits until the output matches `pattern` and returns its first group. */
  found(pattern: RegExp): Promise<string>;
  ended(): Promise<void>;
}

function start(file: string, env: Record<string, string>): Program {
  const child = spawn(process.execPath, [file], {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return {
    lines: () => output.trim().split("\n"),
    async found(pattern) {
      return (await until(() => pattern.exec(output)))[1]!;
    },
    async ended() {
      if (child.exitCode === null) await once(child, "close");
    },
  };
}

function shownOutput(file: string): string[] {
  const [, text = ""] = new RegExp(`^\`\`\`text output=${file}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(GUIDE) ?? [];
  expect(text).not.toBe("");
  return text.trim().split("\n");
}

/** Returns whether a line equals the shown line, in which an ellipsis stands for any text. */
function isLike(line: string, shown: string): boolean {
  const [before = "", after] = shown.split("…");
  return after === undefined ? line === shown : line.startsWith(before) && line.endsWith(after);
}
