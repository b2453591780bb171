import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHECKS, command } from "../src/index.ts";
import {
  KEY,
  MINT_AUTH,
  SECOND_KEY,
  lenderWith,
  type MintRequest,
  type Reply,
  serve,
  TestLender,
  unusedPort,
} from "./test-lender.ts";

const right = new TestLender();
const echoing = lenderWith({
  // This lender repeats secrets in its answers, as some frameworks do in debug mode.
  receive: () => [500, { [KEY.keyId]: KEY.secret, others: [SECOND_KEY.secret] }],
  mint: ({ headers }) => [500, `failed with ${JSON.stringify(headers)}`],
});
const servers: { close: () => Promise<void> }[] = [];
let folder: string;

beforeAll(async () => {
  servers.push(await serve(right), await serve(echoing));
  folder = await mkdtemp(join(tmpdir(), "conformance-"));
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await rm(folder, { recursive: true });
});

describe("the command", () => {
  test("exits with code 0 if no check failed", async () => {
    const { code, stdout } = await run(argumentsFor(right));
    expect(code).toBe(0);
    expect(stdout).toContain("PASS     receiver.ping · A signed ping is acknowledged\n");
    expect(stdout).toMatch(/\n\d+ passed, 0 failed, 0 with a warning, \d+ skipped\n/);
    expect(stdout).toContain("Only answers were checked.");
  });

  test("exits with code 1 if a check failed", async () => {
    const { code, stdout } = await run(argumentsFor(echoing));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL {5}receiver\.event .*\n +sent .*\n +came back +500 in \d+ ms\n +problem .*500/m);
    expect(stdout).toMatch(/\n +fix +Look in your server's log.*\n +why /);
  });

  test("exits with code 2 if nothing listens at a URL", async () => {
    const { code, stderr } = await run([
      ...argumentsFor(right),
      "--mint",
      `http://127.0.0.1:${await unusedPort()}/mint`,
    ]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^--mint: 127\.0\.0\.1 port \d+ cannot be reached: connection refused: nothing listens on this port \(ECONNREFUSED\)\.$/m,
    );
  });

  test("exits with code 2 if the host does not speak TLS", async () => {
    const { code, stderr } = await run([...argumentsFor(right), "--mint", right.url.replace("http:", "https:")]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^--mint: .* cannot be reached: /)]);
  });
});

describe("invalid arguments", () => {
  const RECEIVER = ["--receiver", "http://127.0.0.1:1/hooks"];
  const KEY_ARGUMENTS = ["--key-id", "lk_1", "--secret", "sk_1"];

  test.each([
    ["no arguments", [], "Give the URL of your receiver with --receiver"],
    ["no secret", [...RECEIVER, "--key-id", "lk_1"], "--secret or in CONFORMANCE_SECRET"],
    ["no key id", [...RECEIVER, "--secret", "sk_1"], "--key-id"],
    ["the secret as key id", [...RECEIVER, "--key-id", "sk_1", "--secret", "sk_1"], "must be the key id"],
    ["a second key without its secret", [...RECEIVER, ...KEY_ARGUMENTS, "--second-key-id", "lk_2"], "needs both"],
    [
      "a URL without a scheme",
      ["--receiver", "lender.example", ...KEY_ARGUMENTS],
      "--receiver must be an absolute URL",
    ],
    ["plain http", ["--receiver", "http://lender.example/hooks", ...KEY_ARGUMENTS], "must be https"],
    ["another protocol", ["--receiver", "ftp://lender.example/", ...KEY_ARGUMENTS], "absolute URL"],
    ["a user name", ["--receiver", "https://me:pw@lender.example/", ...KEY_ARGUMENTS], "user name or password"],
    ["a state URL without {loan}", [...RECEIVER, ...KEY_ARGUMENTS, "--state", "http://127.0.0.1:1/"], "needs {loan}"],
    ["a header without value", [...RECEIVER, ...KEY_ARGUMENTS, "--mint-auth-header", "Authorization"], '"Name: value"'],
    [
      "a header that the service sets",
      [...RECEIVER, ...KEY_ARGUMENTS, "--mint-auth-header", "x-service-key-id: 1"],
      "itself",
    ],
    ["an unknown check", [...RECEIVER, ...KEY_ARGUMENTS, "--only", "receiver.pong"], 'no check "receiver.pong"'],
    ["a check without its URL", [...RECEIVER, ...KEY_ARGUMENTS, "--only", "mint.link"], "needs --mint"],
    [
      "no number",
      [...RECEIVER, ...KEY_ARGUMENTS, "--timeout", "soon"],
      '--timeout must be a number of seconds above 0 and up to 600, got "soon"',
    ],
    ["zero", [...RECEIVER, ...KEY_ARGUMENTS, "--timeout", "0"], "--timeout"],
    ["an invalid currency", [...RECEIVER, ...KEY_ARGUMENTS, "--currency", "rupees"], "ISO 4217"],
    ["an unknown option", [...RECEIVER, "--sceret", "sk_1"], "--sceret"],
    ["a file that cannot be written", [...RECEIVER, ...KEY_ARGUMENTS, "--junit", "/nowhere/at/all.xml"], "--junit"],
  ])("%s: prints what is wrong and exits with code 2", async (_what, args, sentence) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(sentence);
    expect(stderr).toMatch(/\nSee --help\.\n$/);
  });

  test.each([
    ["an auth header without quotes", ["--mint-auth-header", "Authorization:", "Bearer", "s3cret-value"]],
    ["a malformed header", ["--mint-auth-header", "s3cret-value"]],
    ["a header with a line break", ["--mint-auth-header", "X-Auth: s3cret-value\nX: y"]],
    ["a misspelt option", ["--sceret", "s3cret-value"]],
    ["a misspelt option with an equals sign", ["--sceret=s3cret-value"]],
    ["a switch with a value", ["--json=s3cret-value"]],
    ["a secret that looks like an option", ["--secret", "-s3cret-value"]],
    ["the secret as key id", ["--secret", "sk_1", "--key-id", "sk_s3cret-value"]],
    ["a key id with a line break", ["--secret", "sk_1", "--key-id", "s3cret-value\n"]],
  ])("%s: the error does not repeat the value", async (_what, args) => {
    const { code, stdout, stderr } = await run([...RECEIVER, ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).not.toContain("s3cret-value");
  });
});

test("reads secrets from the environment, and never prints one", async () => {
  const junit = join(folder, "echo.xml");
  const env = {
    CONFORMANCE_SECRET: KEY.secret,
    CONFORMANCE_SECOND_SECRET: SECOND_KEY.secret,
    CONFORMANCE_MINT_AUTH_HEADER: `${MINT_AUTH.name}: ${MINT_AUTH.value}`,
  };
  const args = ["--receiver", `${echoing.url}/hooks`, "--mint", `${echoing.url}/mint`];
  const keys = ["--key-id", KEY.keyId, "--second-key-id", SECOND_KEY.keyId];
  const texts = [await run([...args, ...keys, "--junit", junit], env), await run([...args, ...keys, "--json"], env)];
  const written = JSON.stringify(texts) + (await readFile(junit, "utf8"));
  expect(written).toContain("***");
  for (const secret of [KEY.secret, SECOND_KEY.secret, MINT_AUTH.value]) expect(written).not.toContain(secret);
});

test.each([
  ["in a redirect", { mint: () => [302, undefined, { Location: `/${MINT_AUTH.value}` }] as const }],
  [
    "in the content type",
    {
      linkFor: (key, linkRequest) => [
        200,
        right.answerWith(right.newLink(linkRequest)),
        { "Content-Type": MINT_AUTH.value },
      ],
    },
  ],
  ["in a host", { answerWith: () => ({ link: { linkId: "p", url: `https://${MINT_AUTH.value}/` } }) }],
  ["in a protocol", { answerWith: () => ({ link: { linkId: "p", url: `${MINT_AUTH.value}:pay` } }) }],
  [
    "in link ids",
    {
      newLink: (linkRequest) => ({ ...right.newLink(linkRequest), linkId: `${MINT_AUTH.value}${Math.random()}` }),
      linkFor: newEachTime,
    },
  ],
  ["in its state", { state: () => [200, { sequence: 1, status: MINT_AUTH.value }] as const }],
] satisfies [string, Partial<TestLender>][])("masks a secret that a lender repeats %s", async (_where, otherwise) => {
  const lender = lenderWith(otherwise);
  const { close } = await serve(lender);
  const { stdout } = await run([...argumentsFor(lender), "--state", `${lender.url}/state/{loan}`, "--json"]);
  await close();
  expect(stdout).toContain("***");
  expect(stdout).not.toContain(MINT_AUTH.value);
});

test("does not mask the words of the report itself if a secret is a common word", async () => {
  const { stdout } = await run([...argumentsFor(echoing), "--secret", "answered"]);
  expect(stdout).toContain("A ping was answered 500");
});

test("--json prints one JSON document, and nothing about progress if the output is not a terminal", async () => {
  const { code, stdout, stderr } = await run([
    ...argumentsFor(right),
    "--only",
    "receiver.gap,mint.wrong-auth",
    "--json",
  ]);
  expect([code, stderr]).toEqual([0, ""]);
  const { passed, urls, summary, checks } = JSON.parse(stdout) as Record<string, unknown> & { checks: unknown[] };
  expect({ passed, urls, summary }).toEqual({
    passed: true,
    urls: { receiver: `${right.url}/hooks`, mint: `${right.url}/mint` },
    summary: { PASS: 4, FAIL: 0, WARN: 0, SKIPPED: 1 },
  });
  expect(checks).toContainEqual({
    name: "receiver.gap",
    title: expect.any(String) as string,
    why: expect.any(String) as string,
    verdict: "PASS",
    sent: "event 1; event 4",
    cameBack: expect.stringMatching(/^200 in \d+ ms; 200 in \d+ ms$/) as string,
    findings: [],
    skipped: null,
    durationMs: expect.any(Number) as number,
  });
});

test("on a terminal, shows the running check, and uses colours unless NO_COLOR is set", async () => {
  const args = [...argumentsFor(right), "--only", "receiver.ping"];
  const { stdout, stderr } = await run(args, {}, true);
  expect(stderr).toContain("1 of 3: receiver.ping …");
  expect(stdout).toContain("\u001b[32mPASS\u001b[0m");
  expect((await run(args, { NO_COLOR: "1" }, true)).stdout).not.toContain("\u001b");
});

test("--junit writes a suite per endpoint", async () => {
  const junit = join(folder, "report.xml");
  await run([...argumentsFor(echoing), "--junit", junit]);
  const xml = await readFile(junit, "utf8");
  expect(xml).toMatch(
    /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="conformance" tests="\d+" failures="3"/,
  );
  expect(xml).toMatch(
    /<testsuite name="receiver" [^>]*>\n {4}<testcase classname="receiver" name="ping: A signed ping/,
  );
  expect(xml).toContain('<failure message="A ping was answered 500');
  expect(xml).toContain("&quot;");
  expect(xml).toContain('<skipped message="needs the check mint.link to pass"/>');
});

test("--list prints every check", async () => {
  const { stdout: list } = await run(["--list"]);
  expect(list.split("\n").map((line) => line.split(" ")[0])).toEqual([...CHECKS.map(({ name }) => name), ""]);
});

test("--help shows an example", async () => {
  const { code, stdout: help } = await run(["--help"]);
  expect(code).toBe(0);
  expect(help).toContain("Example:");
});

function newEachTime(this: TestLender, _key: string, linkRequest: MintRequest): Reply {
  return [200, this.answerWith(this.newLink(linkRequest))];
}

function argumentsFor({ url }: TestLender): string[] {
  const header = `${MINT_AUTH.name}: ${MINT_AUTH.value}`;
  const urls = ["--receiver", `${url}/hooks`, "--mint", `${url}/mint`, "--mint-auth-header", header];
  return [...urls, "--key-id", KEY.keyId, "--secret", KEY.secret];
}

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}, isTTY = false): Promise<Ran> {
  const ran = { code: 0, stdout: "", stderr: "" };
  const stdout = { isTTY, write: (text: string) => (ran.stdout += text) };
  const stderr = { isTTY, write: (text: string) => (ran.stderr += text) };
  ran.code = await command(args, { env, stdout, stderr });
  return ran;
}
