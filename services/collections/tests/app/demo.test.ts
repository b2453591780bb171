import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { dayIn } from "@collections/local-time";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { aVisitor } from "../console/fixtures/visitor.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const DEMO = fileURLToPath(new URL("../../demo/app.ts", import.meta.url));

test("pnpm demo:app shows a month of history, and stops on Ctrl-C", async () => {
  const demo = startDemo(["--port", "0"]);
  await demo.printed(/(Ctrl-C)/);
  const url = await demo.printed(/at +(http:\S+)\/app$/m);
  const phone = await demo.printed(/phone +(\+\d+)/);
  const app = new AppClient(url, await demo.printed(/token +(fpt_\S+)/));
  expect((await fetch(`${url}/app`)).status).toBe(200);
  for (const page of ["console", "portal of Acme Finance"]) {
    const response = await fetch(await demo.printed(new RegExp(`${page} is (?:at )? +(http:\\S+)$`, "m")));
    expect(await response.text()).toContain("Sign in");
  }

  // The tour moves cases to a second field partner.
  const operator = aVisitor({ url });
  const link = (await demo.printed(/console is at +(http:\S+)$/m)).split("/").at(-1)!;
  expect(await operator.post("/console/sign-in", { link })).toMatchObject({ status: 303 });
  expect((await operator.get("/console/field-partners")).text).toContain("Kiran Shinde");

  // The thirty cases.
  const cases = await readCases(app);
  expect(Map.groupBy(cases, ({ lender }) => lender.code)).toMatchObject(
    new Map([
      ["ACME", { length: 14 }],
      ["SHAKTI", { length: 10 }],
      ["BETA", { length: 6 }],
    ]),
  );
  expect(countBy(cases, ({ status }) => status)).toEqual({
    ASSIGNED: 3,
    IN_PROGRESS: 21,
    ON_HOLD: 1,
    COLLECTED: 3,
    CLOSED: 1,
    WITHDRAWN: 1,
  });
  expect(new Set(cases.map(({ bucket }) => bucket))).toEqual(new Set(["1-30", "31-60", "61-90", "90+"]));
  expect(countBy(cases, ({ blockedReasonCode }) => String(blockedReasonCode))).toMatchObject({
    ON_HOLD: 1,
    DO_NOT_CONTACT: 1,
  });
  expect(cases.filter(({ borrower }) => /\p{Script=Devanagari}/u.test(borrower.displayName))).toHaveLength(8);
  expect(cases.every(({ borrower }) => /, .+ 41\d{4}/.test(borrower.address))).toBe(true);

  // Two promises are due today, and one on each of the next three days. Promises of earlier days are kept or broken.
  const today = dayIn("Asia/Kolkata", new Date());
  const due = cases.flatMap(({ openPromise }) => (openPromise ? [daysBetween(today, openPromise.dueOn)] : []));
  expect(due.toSorted((a, b) => a - b)).toEqual([0, 0, 1, 2, 3]);

  // The visits, payments and earnings of the last month.
  const vishnu = cases.find(({ loanTail }) => loanTail.endsWith("1003"))!;
  expect(vishnu).toMatchObject({ totalCollected: { minor: "1000000" }, outstanding: { minor: "11500050" } });
  expect(await dispositionsOf(app, vishnu.id)).toEqual(["CALLBACK_REQUESTED", "PROMISE_TO_PAY"]);
  const { data } = await app.ask("{ earningLines(first: 20) { edges { node { status amount { minor } } } } }");
  const lines = data!["earningLines"].edges.map(({ node }: { node: EarningLine }) => node);
  const earned = countBy(lines as EarningLine[], ({ status }) => status);
  expect(earned).toMatchObject({ PAID_OUT: 2, CREDITED: 1, PENDING: 9 });
  expect(earned["REVERSED"]).toBeGreaterThan(0);

  // A link that is requested now reaches the borrower by WhatsApp, in the borrower's language.
  const { id } = await linkOf(app, cases, { tail: "1001", minor: "250000" });
  expect(await demo.printed(/WhatsApp to \+\d+:\n +(Dear .+)$/m)).toMatch(
    /^Dear Ravi Kumar, Acme Finance asks you to pay ₹2,500\.00\. You can pay here: http:\S+$/,
  );
  const status = async () => {
    const query = "query ($id: ID!) { paymentLink(id: $id) { status deliveries { channel status } } }";
    return (await app.ask(query, { id })).data!["paymentLink"];
  };
  await expect
    .poll(status, { interval: 500 })
    .toMatchObject({ status: "SENT", deliveries: expect.arrayContaining([{ channel: "WHATSAPP", status: "READ" }]) });

  await linkOf(app, cases, { tail: "1013", minor: "62000" });
  expect(await demo.printed(/WhatsApp to \+\d+:\n +(नमस्ते .+)$/m)).toMatch(
    /^नमस्ते रेखा गायकवाड, Acme Finance का अनुरोध है कि आप ₹620\.00 का भुगतान करें। यहाँ भुगतान करें: http:\S+$/,
  );
  // Shakti Microfinance has no WhatsApp account, so its link comes by e-mail.
  await linkOf(app, cases, { tail: "2001", minor: "300000" });
  expect(await demo.printed(/E-mail to kavita\.jadhav@example\.com:\n +(.+)$/m)).toBe(
    "Shakti Microfinance को ₹3,000.00 का भुगतान",
  );

  const stranger = new AppClient(url);
  const { otpId } = await stranger.mutate("requestOtp", { phone }, "otpId");
  const code = await demo.printed(/Code to sign in: (\d{6})/);
  expect(await stranger.mutate("verifyOtp", { otpId, code }, "tokens { accessToken }")).toMatchObject({
    __typename: "VerifyOtpPayload",
  });

  demo.process.kill("SIGINT");
  expect(await demo.ended).toEqual([0, null]);
});

test.runIf(process.platform === "linux")(
  "pnpm demo:app that is interrupted during its start ends every process and deletes its database",
  async () => {
    const demo = startDemo(["--port", "0"]);
    const pid = demo.process.pid!;
    const dataDir = async () => (await descendantsOf(pid)).flatMap(({ command }) => DATA_DIR.exec(command) ?? []).at(0);
    await expect.poll(dataDir).toEqual(expect.any(String));
    const [folder, processes] = [(await dataDir())!, await descendantsOf(pid)];
    demo.process.kill("SIGINT");
    expect(await demo.ended).toEqual([0, null]);
    expect(demo.output()).toContain("Stopped.");
    expect(demo.output()).not.toContain("/app");
    await expect.poll(() => processes.filter(({ pid }) => existsSync(`/proc/${pid}`))).toEqual([]);
    await expect.poll(() => existsSync(folder)).toBe(false);
  },
);

test("pnpm demo:app names the port that is in use and the option for another port", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const demo = startDemo(["--port", String(port)]);
  expect(await demo.ended).toEqual([2, null]);
  other.close();
  expect(demo.output()).toBe(
    `Port ${port} is in use, maybe by another pnpm demo:app. ` +
      `Stop that program, or choose another port: pnpm demo:app --port ${port + 1}\n`,
  );
});

test.each([
  [["--port", "http"], "--port http is not a port. Expected a number from 0 to 65535"],
  [["--port", "70000"], "--port 70000 is not a port."],
  [["--host", "::"], "The only option is --port <number>."],
])("pnpm demo:app %j is refused with the reason", async (argv, reason) => {
  const demo = startDemo(argv);
  expect(await demo.ended).toEqual([2, null]);
  expect(demo.output()).toContain(reason);
});

const DATA_DIR = /\/\S*collections-demo-[^\s/]+/;

/** Returns the processes that a process has started, and those that these have started. */
async function descendantsOf(ancestor: number): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
      const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return { pid, parent: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]), command: command.replaceAll("\0", " ") };
    }),
  );
  const found = [{ pid: ancestor, parent: 0, command: "" }];
  for (const { pid } of found) found.push(...all.filter(({ parent }) => parent === pid));
  return found.slice(1);
}

interface ShownCase {
  readonly id: string;
  readonly loanTail: string;
  readonly status: string;
  readonly bucket: string;
  readonly blockedReasonCode: string | null;
  readonly lender: { readonly code: string };
  readonly borrower: { readonly displayName: string; readonly address: string };
  readonly outstanding: { readonly minor: string };
  readonly totalCollected: { readonly minor: string };
  readonly openPromise: { readonly dueOn: string } | null;
}

interface EarningLine {
  readonly status: string;
  readonly amount: { readonly minor: string };
}

interface RunningDemo {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown[]>;
  output(): string;
  /** Resolves with the first group of the pattern as soon as the demo has printed it. Rejects if the demo ends before. */
  printed(pattern: RegExp): Promise<string>;
}

function startDemo(argv: readonly string[], env: Record<string, string> = {}): RunningDemo {
  const args = ["--disable-warning=ExperimentalWarning", DEMO, ...argv];
  const demo = spawn(process.execPath, args, { stdio: "pipe", env: { ...process.env, ...env } });
  afterFile(() => void demo.kill("SIGKILL"));
  let output = "";
  let hasEnded = false;
  const ended = once(demo, "close");
  void ended.then(() => (hasEnded = true));
  for (const stream of [demo.stdout, demo.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  return {
    process: demo,
    ended,
    output: () => output,
    async printed(pattern) {
      const found = () => (hasEnded ? "" : pattern.exec(output)?.[1]);
      await expect.poll(found).toEqual(expect.any(String));
      const text = found();
      if (!text) throw new Error(`The demo ended. It has printed:\n${output}`);
      return text;
    },
  };
}

async function readCases(app: AppClient): Promise<ShownCase[]> {
  const { data, errors } = await app.ask(
    `{ cases(first: 31) { edges { node {
      id loanTail status bucket blockedReasonCode lender { code } borrower { displayName address }
      outstanding { minor } totalCollected { minor } openPromise { dueOn }
    } } } }`,
  );
  if (errors) throw new Error(JSON.stringify(errors));
  return data!["cases"].edges.map(({ node }: { node: ShownCase }) => node);
}

/** Starts a visit of the case whose loan number ends with `tail`, and requests a link. */
async function linkOf(
  app: AppClient,
  cases: readonly ShownCase[],
  { tail, minor }: { tail: string; minor: string },
): Promise<{ id: string }> {
  const { id: caseId } = cases.find(({ loanTail }) => loanTail.endsWith(tail))!;
  const visitId = randomUUID();
  const start = { visitId, caseId, occurredAt: new Date().toISOString() };
  expect(await app.mutate("startVisit", start, "visit { disposition }")).toMatchObject({
    __typename: "StartVisitPayload",
  });
  const amount = { minor, currency: "INR" };
  const { paymentLink } = await app.mutate("requestPaymentLink", { visitId, amount }, "paymentLink { id }");
  return paymentLink;
}

async function dispositionsOf(app: AppClient, id: string): Promise<string[]> {
  const query = "query ($id: ID!) { case(id: $id) { visits { edges { node { disposition } } } } }";
  const { data } = await app.ask(query, { id });
  return data!["case"].visits.edges.map(({ node }: { node: { disposition: string } }) => node.disposition);
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(items, keyOf)].map(([key, of]) => [key, of.length]));
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 86_400_000;
}
