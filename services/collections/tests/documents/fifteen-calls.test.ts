import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { dayIn, instantOf } from "@collections/local-time";
import { afterFile, until } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aRow, startTestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import type { Cli } from "../fixtures/processes.ts";
import { type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";

const ZONE = "Asia/Kolkata";
const DAY_MS = 86_400_000;
const dayOf = (days: number) => dayIn(ZONE, new Date(Date.now() + days * DAY_MS));
const YESTERDAY = dayOf(-1);
const PROMISED_DAY = dayOf(5);
const YESTERDAY_AT_TEN = instantOf(YESTERDAY, "10:00", ZONE).toISOString();

interface Call {
  readonly title: string;
  /** The arguments of each command. */
  readonly commands: readonly string[][];
}

/**
 * For each call of docs/operations.md: what each of its commands prints, and its exit code unless that is 0. The calls
 * are made in this order, on one stage.
 */
const ANSWERS: Readonly<Record<string, readonly (RegExp | { readonly code: number; readonly says: RegExp })[]>> = {
  "The borrower has paid": [/payment +ACME.*LN-1001[^]*payment show ACME LN-1001 UTR4711/, /UTR4711[^]*1,000\.00/],
  "no webhooks since nine": [/1 failure in a row[^]*500/, /retrying/, { code: 1, says: /500/ }],
  "Asha has left": [
    /Asha Rao +98•••••091 +active +4/,
    /open cases +4[^]*to pay out +ACME: 125\.00 INR/,
    /Ravi Iyer +4 +17,000\.00/,
    /Ravi Iyer +4 /,
    /Every session has ended/,
  ],
  "on the wrong loan": [/LN-1003[^]*nothing was changed/, /LN-1003/],
  "cheque has bounced": [/nothing was changed/, /Reversed +0\.00 → 1,000\.00/, /RET-1[^]*bounced/],
  "214 payments, and yours 213": [
    { code: 6, says: /UTR4799/ },
    { code: 6, says: /UTR4799/ },
  ],
  "door at 21:30": [/case +ACME/, /visit +Asha Rao .*PROMISE_TO_PAY[^]*m from the address/],
  "which share": [/EARNING[^]*Asha Rao[^]*125\.00/],
  "today going": [/payments +6: 9,250\.00 INR[^]*reversals +2: 2,000\.00 INR[^]*2 unassigned open cases/],
  "promises are due": [/LN-1001/],
  "assigned to nobody": [/LN-1005[^]*LN-1006|LN-1006[^]*LN-1005/, /Meera Nair +1 .*\n.*Ravi Iyer +1 /],
  "looked at this borrower": [/LN-1001/, /contact seen +by Asha Rao/, /contact\.revealed +Asha Rao/],
  "settings of this lender": [
    new RegExp(`lender\\.updated +${userInfo().username} +commissionPercent 2\\.5 → 3$`, "m"),
  ],
  "owe to whom": [/Asha Rao.*125\.00/, /all +INR +125\.00/],
  "new SIM": [/Ravi Iyer +98•••••092 +active +4/, /Ravi Iyer now has the phone 98•••••099/],
};

const calls = callsOf(readFileSync(new URL("../../../../docs/operations.md", import.meta.url), "utf8"));
const values = new Map([
  ["2026-11-26", YESTERDAY],
  ["2026-12-03", PROMISED_DAY],
]);

let cli: Cli;
let setup: VisitSetup;

beforeAll(async () => {
  const service = await startTestService({ settings: { WEBHOOK_LADDER: "0s,1h" } });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  setup = await visitSetup(service, { code: "ACME" });
  const person = async (name: string, phone: string) =>
    String((await cli.json("field-partner", "create", "--name", name, "--phone", phone))["fieldPartnerId"]);
  const asha = await person("Asha Rao", "+919820000091");
  values.set("fp_0192…", asha);
  values.set("fp_0193…", await person("Ravi Iyer", "+919820000092"));
  values.set("fp_0194…", await person("Meera Nair", "+919820000093"));

  const { lender } = setup;
  const address = { line1: "12 MG Road", city: "Pune", country: "IN", latitude: 18.52, longitude: 73.85 };
  const row = (loan: string) => aRow(loan, { borrowerName: "Sunita Devi", addresses: [address] });
  await lender.importCases([0, 1, 2, 3, 4, 5, 6].map((digit) => row(`LN-100${digit}`)));
  const { accessToken } = await cli.json("field-partner", "token", asha);
  const app = new AppClient(service.url, String(accessToken));
  await cli.json("case", "assign", "ACME", "LN-1000", asha);
  await paidByLink(app);
  await cli.json("case", "assign", "ACME", "LN-1001", asha);
  await visitWithPromise(app);
  for (const digit of [2, 3, 4]) await cli.json("case", "assign", "ACME", `LN-100${digit}`, asha);

  const pay = (loan: string, reference: string) =>
    lender.confirm(loan, { amount: 1_000, reference, paidAt: YESTERDAY_AT_TEN, mode: "upi" });
  for (const [loan, reference] of [
    ["LN-1001", "UTR4711"],
    ["LN-1002", "UTR4712"],
  ] as const)
    await pay(loan, reference);
  await cli.json("lender", "update", "ACME", "--commission-percent", "3");
  lender.receiverBehaviour = "error500";
  await pay("LN-1004", "UTR4713");
  const retrying = () => cli("delivery", "list", "--lender", "ACME", "--state", "retrying");
  await until(async () => (await retrying()).stdout.includes("retrying"));

  const folder = mkdtempSync(join(tmpdir(), "fifteen-calls-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  const lines = [
    "LN-1001,UTR4711,1000.00",
    "LN-1003,UTR4712,1000.00",
    "LN-1004,UTR4713,1000.00",
    "LN-1004,UTR4799,250.00",
  ];
  const rows = lines.map((line) => `${line},${YESTERDAY} 10:00,upi\n`);
  writeFileSync(join(folder, "payments.csv"), ["Loan No,UTR,Amount,Paid On,Payment Mode\n", ...rows].join(""));
  values.set("payments.csv", join(folder, "payments.csv"));
});

/** Starts a visit on the newest case that the field partner may visit, and returns the ids. */
async function aVisit(app: AppClient): Promise<{ visitId: string; caseId: string }> {
  const { data } = await app.ask("{ cases(first: 1, filter: { workable: true }) { edges { node { id } } } }");
  const caseId = String(data!["cases"].edges[0].node.id);
  const visitId = crypto.randomUUID();
  const place = { latitude: 18.521, longitude: 73.851, accuracyM: 12 };
  await app.mutate("startVisit", { visitId, caseId, occurredAt: now(), ...place }, "visit { visitId }");
  return { visitId, caseId };
}

/** The borrower pays all that is owed by a link that a field partner requested. */
async function paidByLink(app: AppClient): Promise<void> {
  const { visitId } = await aVisit(app);
  const amount = { minor: "500000", currency: "INR" };
  await app.mutate("requestPaymentLink", { visitId, amount }, "paymentLink { id }");
  await setup.lender.waitFor(() => setup.lender.links.size === 1);
  const [linkId] = setup.lender.links.keys();
  const paid = { amount: 5_000, reference: "UTR4710", paidAt: now(), mode: "payment_link", linkId: linkId! };
  expect((await setup.lender.confirm("LN-1000", paid)).status).toBe(200);
}

/** A field partner sees the borrower's phone number, visits the borrower and ends the visit with a promise. */
async function visitWithPromise(app: AppClient): Promise<void> {
  const { visitId, caseId } = await aVisit(app);
  await app.mutate("revealContact", { caseId }, "contact { phone }");
  const promise = { amount: { minor: "100000", currency: "INR" }, dueOn: PROMISED_DAY };
  const end = { visitId, disposition: "PROMISE_TO_PAY", occurredAt: now(), promise };
  await app.mutate("completeVisit", end, "visit { visitId }");
}

function now(): string {
  return new Date().toISOString();
}

test("docs/operations.md has fifteen calls, and this test knows the answers to each", () => {
  expect(calls).toHaveLength(15);
  const known = Object.entries(ANSWERS);
  expect(calls.map(({ title }, place) => title.includes(known[place]?.[0] ?? "?"))).toEqual(calls.map(() => true));
  expect(known.map(([, answers]) => answers.length)).toEqual(calls.map(({ commands }) => commands.length));
});

test.each(Object.entries(ANSWERS))(
  "the commands of the call '%s' in docs/operations.md print the expected answers",
  async (words, answers) => {
    const { commands } = calls.find(({ title }) => title.includes(words))!;
    for (const [place, given] of commands.entries()) {
      const answer = answers[place]!;
      const { code, says } = answer instanceof RegExp ? { code: 0, says: answer } : answer;
      const ran = await cli(...given.map(filledIn));
      const text = `${given.join(" ")}\n${ran.stdout}\n${ran.stderr}`;
      expect(ran.code, text).toBe(code);
      expect(ran.stdout + ran.stderr, text).toMatch(says);
    }
  },
);

/** Returns the sections under "Fifteen calls", with the commands in their code blocks. */
function callsOf(page: string): Call[] {
  const section = page.split("\n## Fifteen calls\n")[1]!.split("\n## ")[0]!;
  const sections = section.split(/^### /m).slice(1);
  return sections.map((text) => {
    const [title = ""] = text.split("\n");
    const block = /```bash\n([^]*?)```/.exec(text)?.[1] ?? "";
    const lines = block.split("\n").filter((line) => line.startsWith("pnpm collections "));
    return { title, commands: lines.map((line) => argumentsOf(line).slice(2)) };
  });
}

/** Splits a command line at blanks, except inside double quotes. */
function argumentsOf(line: string): string[] {
  return [...line.replace("--since 09:00", "--since 1h").matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain!,
  );
}

function filledIn(argument: string): string {
  return [...values].reduce((text, [name, value]) => text.replaceAll(name, value), argument);
}
