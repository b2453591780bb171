import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { CollectionsClient, type Reconciliation } from "@collections/lender-sdk";
import { reconcileDay, startLenderTwin } from "@collections/lender-twin";
import { afterEach, expect, test } from "vitest";
import { CHECKS, type CheckResult, chosenChecks, runChecks, type Settings } from "../src/index.ts";
import { namesOf, settingsFor } from "./run-on.ts";
import { KEY, serveHttp, unusedPort } from "./test-lender.ts";

const NAMES = CHECKS.map(({ name }) => name).filter((name) => name.startsWith("reconcile."));
const closing: (() => Promise<void>)[] = [];

afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

interface TestDay {
  readonly from: string;
  readonly to: string;
  readonly payments: readonly {
    readonly loan: string;
    readonly reference: string;
    readonly amount: number;
    readonly paidAt: string;
    readonly mode: string;
  }[];
}

type Program = (day: TestDay, baseUrl: string) => Promise<void>;

/** The steps of a correct program. A test replaces one of them. */
const right = {
  rows: ({ payments }: TestDay) =>
    payments.map(({ loan, reference, amount, paidAt }) => ({ loan, reference, amount, paidAt })),
  window: ({ from, to }: TestDay) => ({ from, to }),
  toConfirm: ({ onlyYours }: Reconciliation) => onlyYours.filter(({ confirm }) => confirm !== null) as Named[],
  confirmation: (payment: TestDay["payments"][number]) => payment,
  secret: KEY.secret,
  repeats: true,
};

interface Named {
  readonly loan: string | null;
  readonly reference: string | null;
}

function programWith(changed: Partial<typeof right>): Program {
  const steps = { ...right, ...changed };
  return async (day, baseUrl) => {
    const aborting = new AbortController();
    const onRetry = () => void (steps.repeats || aborting.abort());
    const client = new CollectionsClient({ baseUrl, apiKeyId: KEY.keyId, hmacSecret: steps.secret, onRetry });
    const rows = steps.rows(day).map((row) => ({ ...row, amount: String(row.amount) }));
    const answer = await client.reconcile({ ...steps.window(day), rows }, { signal: aborting.signal });
    for (const { loan, reference } of steps.toConfirm(answer)) {
      const payment = day.payments.find((one) => one.loan === loan && one.reference === reference);
      if (!payment) continue;
      const { loan: _, amount, ...sent } = steps.confirmation(payment);
      await client.confirmPayment(loan!, { ...sent, amount: String(amount) });
    }
  };
}

/** Serves a URL that runs the program, and runs the checks of reconciliations on it. */
async function runOn(program: Program, more: Partial<Settings> = {}): Promise<CheckResult[]> {
  const servicePort = await unusedPort();
  const baseUrl = `http://127.0.0.1:${servicePort}`;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const ran = program(JSON.parse(Buffer.concat(chunks).toString()) as TestDay, baseUrl);
    const status = await ran.then(
      () => 204,
      () => 500,
    );
    response.writeHead(status).end();
  };
  const { url, close } = await serveHttp(createServer((request, response) => void answer(request, response)));
  closing.push(close);
  const endpoints = { receiver: undefined, mint: undefined, reconcile: new URL(`${url}/reconcile`) };
  const settings = { ...settingsFor(url), ...endpoints, servicePort, ...more };
  return runChecks(settings, chosenChecks(settings, []), { begins() {}, ends() {} });
}

test("a program with the SDK passes every check", async () => {
  const results = await runOn(programWith({}));
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(namesOf(results, "PASS")).toEqual(NAMES);
});

test("the lender twin passes every check", async () => {
  const twin = await startLenderTwin({ credentials: { apiKeyId: KEY.keyId, hmacSecret: KEY.secret } });
  closing.push(() => twin.close());
  const results = await runOn(async ({ from, to, payments }, serviceUrl) => {
    twin.connect({ serviceUrl });
    const own = payments.map(({ loan: sourceLoanNumber, ...payment }) => {
      return { sourceLoanNumber, ...payment, body: JSON.stringify(payment) };
    });
    await reconcileDay(twin, own, { from, to }, { giveUpAfterMs: 300_000, signal: new AbortController().signal });
  });
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(namesOf(results, "PASS")).toEqual(NAMES);
});

const everyList = ({ onlyYours, ...answer }: Reconciliation): Named[] => [
  ...onlyYours,
  ...answer.referenceDiffers,
  ...answer.amountDiffers,
  ...answer.onOtherLoan,
  ...answer.otherDay,
  ...answer.outsideWindow,
  ...answer.reversed,
  ...answer.rejected,
];

test.each<[fault: string, changed: Partial<typeof right>, caughtBy: string, problem: RegExp]>([
  ["leaves a payment out", { rows: (day) => right.rows(day).slice(1) }, "request", /was not sent/],
  ["sends minor units", { rows: (day) => right.rows(day).map(minor) }, "request", /amount 20000 instead of 200/],
  [
    "moves the window",
    { window: ({ from }) => ({ from, to: "2026-01-15T18:29:00Z" }) },
    "request",
    /"to" was .* instead of 2026-01-15T18:30/,
  ],
  ["confirms nothing", { toConfirm: () => [] }, "missing", /was not confirmed/],
  [
    "confirms another time",
    { confirmation: (one) => ({ ...one, paidAt: "2026-01-16T00:00:00Z" }) },
    "missing",
    /paidAt/,
  ],
  ["confirms every list", { toConfirm: everyList }, "doubtful", /is in outsideWindow/],
  ["gives up at a 429", { repeats: false }, "busy", /answered 500/],
])("catches a program that %s", async (_fault, changed, caughtBy, problem) => {
  const results = await runOn(programWith(changed));
  expect(namesOf(results, "FAIL")).toEqual([`reconcile.${caughtBy}`]);
  expect(results.flatMap(({ findings }) => findings.map((one) => one.problem)).join("\n")).toMatch(problem);
});

test("names each list whose payment was confirmed", async () => {
  const results = await runOn(programWith({ toConfirm: everyList }));
  const { findings } = results.find(({ name }) => name === "reconcile.doubtful")!;
  expect(findings.map(({ problem }) => /which is in (.*)\.$/.exec(problem)![1])).toEqual([
    "onlyYours with confirm null",
    "referenceDiffers",
    "amountDiffers",
    "onOtherLoan",
    "otherDay",
    "outsideWindow",
    "reversed",
    "rejected",
  ]);
});

test("warns about a payment that is confirmed as `other`", async () => {
  const results = await runOn(programWith({ confirmation: (one) => ({ ...one, mode: "other" }) }));
  expect(namesOf(results, "WARN")).toEqual(["reconcile.missing"]);
});

test("reports a call that is signed with another secret", async () => {
  const results = await runOn(programWith({ secret: "sk_of_another_environment" }));
  expect(namesOf(results, "FAIL")).toEqual(["reconcile.request"]);
  expect(results[0]!.findings[0]!.problem).toBe("A call was rejected: The signature does not match.");
});

test("reports a program that does not call the kit", async () => {
  const results = await runOn(() => Promise.resolve());
  expect(results[0]!.findings[0]!.problem).toBe("No reconciliation was sent.");
  expect(namesOf(results, "SKIPPED")).toEqual(NAMES.slice(1));
});

test("skips the checks without --service-port", async () => {
  const results = await runOn(programWith({}), { servicePort: undefined });
  expect(namesOf(results, "SKIPPED")).toEqual(NAMES);
});

function minor<Row extends { readonly amount: number }>(row: Row): Row {
  return { ...row, amount: row.amount * 100 };
}
