import { parsePublicId, publicId } from "@collections/database";
import { actsOn, lenderByCode } from "@collections/lenders";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { directUrl } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

const TODAY = new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Kolkata" }).format();
const DAY_MS = 24 * 60 * 60_000;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;
let holder: { id: string; displayName: string };
let loans = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  holder = { id: publicId("fp", (await aFieldPartner(service)).id), displayName: "Asha Rao" };
});

/** Imports a loan of 5,000 that is assigned to the field partner. */
async function aLoan(): Promise<string> {
  const loan = `PAY-${(loans += 1)}`;
  await lender.importCases([aRow(loan)]);
  await assign(service, lender.code, loan, parsePublicId("fp", holder.id)!);
  return loan;
}

async function pay(loan: string, reference: string, amount: number, partOf?: string): Promise<void> {
  const paidAt = new Date().toISOString();
  const { status } = await lender.confirm(loan, { amount, reference, paidAt, mode: "upi", ...(partOf && { partOf }) });
  expect(status).toBe(200);
}

const reverseArgs = (loan: string, reference: string, ...more: string[]) => [
  "payment",
  "reverse",
  lender.code,
  loan,
  reference,
  "--reversal-reference",
  `RV-${loan}`,
  "--reversed-at",
  new Date().toISOString(),
  "--reason",
  "bounced",
  ...more,
];

const moveArgs = (loan: string, reference: string, to: string, ...more: string[]) => [
  "payment",
  "move",
  lender.code,
  loan,
  reference,
  "--to",
  to,
  "--reason",
  "asked by Acme",
  ...more,
];

async function refusal(...args: string[]) {
  const { code, stdout } = await cli(...args, "--json");
  return [code, (JSON.parse(stdout) as { error: { code: string } }).error.code];
}

/** Returns the audit entries of an act on a loan. */
async function acts(act: string, loan: string) {
  const em = service.app.database.em();
  const { id } = (await lenderByCode(em, lender.code))!;
  return (await actsOn(em, id, 500)).filter((entry) => entry.act === act && entry.data["loan"] === loan);
}

/** Runs a command in a process of its own, with this answer to its question. */
async function answered(typed: string, ...args: string[]) {
  const main = fileURLToPath(new URL("../../bin/collections.mjs", import.meta.url));
  const settings = { DATABASE_URL: service.databaseUrl, MASTER_KEY: "a".repeat(64), OUTBOUND_ALLOW: "127.0.0.1:*" };
  const env = { ...process.env, ...settings, DATABASE_DIRECT_URL: directUrl(service.databaseUrl) };
  const child = spawn(process.execPath, ["--no-warnings", main, ...args], { env });
  child.stdin.end(`${typed}\n`);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number]>,
  ]);
  return { code, stdout, stderr };
}

describe("payment reverse", () => {
  test("--dry-run shows every effect; --yes reverses and records the reason", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 5000);
    const before = await cli.json("payment", "show", lender.code, loan, "A");
    const args = reverseArgs(loan, "A", "--note", "cheque 1187");
    const effects = {
      outstanding: { before: "0.00", after: "5000.00" },
      status: { before: "collected", after: "in_progress" },
      reopened: true,
      fieldPartner: holder,
      totalCollected: { before: "5000.00", after: "0.00" },
      totalReversed: { before: "0.00", after: "5000.00" },
      excess: { before: "0.00", after: "0.00" },
      earnings: [
        {
          reference: "A",
          fieldPartner: holder,
          pendingChange: "0.00",
          creditedChange: "-125.00",
          reversedLines: ["125.00"],
          newLine: null,
        },
      ],
      links: [],
      transfers: expect.any(Number) as number,
      events: [
        { kind: "payment.reversed", sequence: expect.any(Number) as number },
        { kind: "case.reopened", sequence: expect.any(Number) as number },
      ],
    };
    expect(await cli.json(...args, "--dry-run")).toMatchObject({ dryRun: true, outcome: "reversed", effects });
    expect(await cli.json("payment", "show", lender.code, loan, "A")).toEqual(before);
    expect(await acts("payment.reversed", loan)).toEqual([]);

    expect(await cli.json(...args, "--yes")).toMatchObject({
      dryRun: false,
      outcome: "reversed",
      lenderCode: lender.code,
      reversal: { amount: "5000.00", currency: "INR", reason: "bounced", note: "cheque 1187", warnings: [] },
      effects,
    });
    expect(await acts("payment.reversed", loan)).toMatchObject([
      { reason: "bounced: cheque 1187", data: { loan, reference: "A", amountMinor: "500000" } },
    ]);
    expect(await cli.json("ledger", "verify", "--lender", lender.code)).toMatchObject({ ok: true });
  });

  test("repeats the recorded reversal, and refuses another amount under its reference", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 2000);
    const args = reverseArgs(loan, "A", "--amount", "500");
    const first = await cli.json(...args, "--yes");
    expect(await cli.json(...args, "--yes")).toEqual({ ...first, outcome: "repeated", effects: null });
    expect(await acts("payment.reversed", loan)).toHaveLength(1);
    const another = args.map((arg) => (arg === "500" ? "600" : arg));
    expect(await refusal(...another, "--yes")).toEqual([1, "DUPLICATE_REVERSAL"]);
  });

  test("records one reversal if the command runs twice at the same time", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 2000);
    const args = reverseArgs(loan, "A", "--yes", "--json");
    const results = await Promise.all([answered("", ...args), answered("", ...args)]);
    const outcomes = results.map(({ stdout }) => (JSON.parse(stdout) as { outcome: string }).outcome);
    expect(outcomes.toSorted()).toEqual(["repeated", "reversed"]);
  });

  test("shows the effects, asks, and reverses only after yes", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 2000);
    const args = reverseArgs(loan, "A");
    const no = await answered("n", ...args);
    expect(no).toMatchObject({ code: 1, stdout: "" });
    expect(no.stderr).toMatch(
      /Outstanding +3,000\.00 → 5,000\.00 INR[^]*Reverse this payment\? \[y\/N\][^]*Nothing was changed/,
    );
    expect(await cli.json("payment", "show", lender.code, loan, "A")).toMatchObject({ reversals: [] });
    const yes = await answered("y", ...args);
    expect(yes).toMatchObject({ code: 0 });
    expect(yes.stdout).toMatch(/Recorded\.\n$/);
    expect(await cli.json("payment", "show", lender.code, loan, "A")).toMatchObject({
      reversals: [{ amount: "2000.00" }],
    });
  });

  test("prints readable text with local times", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 2000);
    await pay(loan, "B", 3000);
    const yesterday = new Date(Date.now() - DAY_MS).toISOString();
    const args = reverseArgs(loan, "A", "--amount", "500", "--dry-run");
    const { code, stdout } = await cli(...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Reversal RV-\S+ of 500\.00 INR of payment A on PAY-\d+: bounced, \S+ \S+ Asia\/(?:Kolkata|Calcutta) \(\S+Z\)\n/,
    );
    expect(stdout).toMatch(/Outstanding +0\.00 → 500\.00 INR\n/);
    expect(stdout).toMatch(/Status +collected → in progress; Asha Rao \(fp_[0-9a-f]{32}\) keeps the case\n/);
    expect(stdout).toMatch(
      /Earning +Asha Rao \(fp_\w+\), payment A: credited -12\.50; the next payout deducts 12\.50\n/,
    );
    expect(stdout).toMatch(/Events +payment\.reversed \(sequence \d+\), case\.reopened \(sequence \d+\)\n/);
    expect(stdout).toMatch(/This is a dry run: nothing was changed\.\n$/);
    const early = args.map((arg, index) => (args[index - 1] === "--reversed-at" ? yesterday : arg));
    expect(await refusal(...early)).toEqual([1, "REVERSED_BEFORE_PAID"]);
    const local = args.map((arg, index) => (args[index - 1] === "--reversed-at" ? `${TODAY} 23:59:59` : arg));
    expect((await cli(...local, "--json")).stdout).toMatch(/"reversedAt": "\S+T18:29:59\.000Z"|REVERSED_AT_IN_FUTURE/);
  });

  test("refuses wrong arguments and states with the documented exit codes", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 2000);
    const args = reverseArgs(loan, "A");
    expect(await refusal(...args)).toEqual([2, "NOT_UNDERSTOOD"]);
    expect(await refusal(...args, "--dry-run", "--yes")).toEqual([2, "NOT_UNDERSTOOD"]);
    expect(await refusal(...args, "--amount", "12.345", "--yes")).toEqual([2, "AMOUNT_PRECISION"]);
    expect(await refusal(...args, "--amount", "much", "--yes")).toEqual([2, "NOT_UNDERSTOOD"]);
    expect(await refusal(...args, "--note", "a\u200bb", "--yes")).toEqual([2, "NOT_UNDERSTOOD"]);
    expect(await refusal(...args, "--amount", "2000.01", "--yes")).toEqual([1, "REVERSAL_EXCEEDS_PAYMENT"]);
    expect(await refusal(...reverseArgs(loan, "B"), "--yes")).toEqual([3, "PAYMENT_NOT_FOUND"]);
    expect(await refusal(...reverseArgs("PAY-0", "A"), "--yes")).toEqual([3, "LOAN_NOT_FOUND"]);
    const unknown = args.map((arg) => (arg === "bounced" ? "stolen" : arg));
    expect(await refusal(...unknown, "--yes")).toEqual([2, "NOT_UNDERSTOOD"]);
    expect(await cli.json("payment", "show", lender.code, loan, "A")).toMatchObject({ reversals: [] });
  });
});

test("payment show has the payment, its reversals, earnings and events", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 2000);
  await cli.json(...reverseArgs(loan, "A", "--amount", "800"), "--yes");
  const shown = await cli.json("payment", "show", lender.code, loan, "A");
  expect(shown).toMatchObject({
    lenderCode: lender.code,
    sourceLoanNumber: loan,
    amount: "2000.00",
    remaining: { amount: "1200.00", applied: "1200.00", excess: "0.00" },
    attribution: "inferred",
    fieldPartner: holder,
    reversals: [{ reversalReference: `RV-${loan}`, amount: "800.00", reason: "bounced" }],
    earnings: [
      { amount: "50.00", status: "pending", formula: "2.5% of ₹2,000.00" },
      { amount: "-20.00", status: "pending", formula: "2.5% of ₹1,200.00 instead of ₹2,000.00" },
    ],
    links: [],
    events: [{ kind: "payment.collected" }, { kind: "payment.reversed" }],
  });
  const { stdout } = await cli("payment", "show", lender.code, loan, "A");
  expect(stdout).toContain("Remaining    1,200.00 INR: 1,200.00 applied, 0.00 excess");
  expect(stdout).toMatch(/REVERSAL +AMOUNT +REASON/);
  expect(await refusal("payment", "show", lender.code, loan, "B")).toEqual([3, "PAYMENT_NOT_FOUND"]);
});

describe("payment move", () => {
  test("--dry-run shows all effects; --yes moves the payment once", async () => {
    const [wrong, right] = [await aLoan(), await aLoan()];
    await pay(right, "EARLIER", 1000);
    await pay(wrong, "A", 4000);
    const args = moveArgs(wrong, "A", right);
    const expected = {
      outcome: "moved",
      reversal: { sourceLoanNumber: wrong, reason: "wrong_loan", reversalReference: "move-A", amount: "4000.00" },
      effects: { outstanding: { before: "1000.00", after: "5000.00" }, earnings: [{ pendingChange: "-100.00" }] },
      to: {
        sourceLoanNumber: right,
        reference: "A",
        amount: "4000.00",
        wasBooked: false,
        effects: {
          outstanding: { before: "4000.00", after: "0.00" },
          status: { before: "in_progress", after: "collected" },
          excess: "0.00",
          earnings: [{ fieldPartner: holder, status: "credited", amount: "100.00" }],
          credited: [{ fieldPartner: holder, amount: "25.00" }],
          events: [{ kind: "payment.collected" }, { kind: "case.closed" }],
        },
      },
    };
    expect(await cli.json(...args, "--dry-run")).toMatchObject({ dryRun: true, ...expected });
    expect(await cli.json("payment", "show", lender.code, wrong, "A")).toMatchObject({ reversals: [] });
    expect(await refusal("payment", "show", lender.code, right, "A")).toEqual([3, "PAYMENT_NOT_FOUND"]);

    expect(await cli.json(...args, "--yes")).toMatchObject({ dryRun: false, ...expected });
    expect(await cli.json(...args, "--yes")).toMatchObject({
      outcome: "repeated",
      effects: null,
      to: { wasBooked: true },
    });
    expect(await acts("payment.moved", wrong)).toMatchObject([
      { reason: "asked by Acme", data: { loan: wrong, toLoan: right, reference: "A" } },
    ]);
    const { stdout } = await cli(...args, "--yes");
    expect(stdout).toMatch(/This was recorded before; nothing was changed\.\n$/);
    expect(await cli.json("ledger", "verify", "--lender", lender.code)).toMatchObject({ ok: true });
  });

  test("shows `partOf` of a part and the warning", async () => {
    const [wrong, right] = [await aLoan(), await aLoan()];
    await pay(wrong, "A", 1000);
    await pay(wrong, "A-rest", 500, "A");
    expect(await cli.json("payment", "show", lender.code, wrong, "A-rest")).toMatchObject({ partOf: "A" });
    const { stdout } = await cli("payment", "show", lender.code, wrong, "A-rest");
    expect(stdout).toContain("Part of      A\n");
    expect(await cli.json(...moveArgs(wrong, "A-rest", right), "--dry-run")).toMatchObject({
      to: { partOf: null, warnings: [{ code: "PARENT_NOT_FOUND" }] },
    });
    await cli.json(...moveArgs(wrong, "A", right), "--yes");
    const moved = await cli(...moveArgs(wrong, "A-rest", right), "--yes");
    expect(moved.stdout).toContain(`Payment A-rest of 500.00 INR on ${right}, a part of A`);
  });

  test("refuses an unknown loan, the same loan and a reversed payment", async () => {
    const [wrong, right] = [await aLoan(), await aLoan()];
    await pay(wrong, "A", 4000);
    expect(await refusal(...moveArgs(wrong, "A", "PAY-0"), "--yes")).toEqual([3, "LOAN_NOT_FOUND"]);
    expect(await refusal(...moveArgs(wrong, "A", wrong), "--yes")).toEqual([2, "SAME_LOAN"]);
    expect(await refusal(...moveArgs(wrong, "B", right), "--yes")).toEqual([3, "PAYMENT_NOT_FOUND"]);
    await cli.json(...moveArgs(wrong, "A", right), "--yes");
    expect(await refusal(...moveArgs(right, "A", wrong), "--yes")).toEqual([1, "REVERSED_ON_LOAN"]);
    expect(await cli.json("payment", "show", lender.code, right, "A")).toMatchObject({ reversals: [] });
    expect(await acts("payment.moved", right)).toEqual([]);
  });
});

test("payout record accepts a previewed sum after a later partial reversal", async () => {
  const { id } = await aFieldPartner(service);
  const person = publicId("fp", id);
  const loan = `PAY-${(loans += 1)}`;
  await lender.importCases([aRow(loan)]);
  await assign(service, lender.code, loan, id);
  await pay(loan, "A", 5000);
  const { asOf } = await cli.json("payout", "preview", person);
  await cli.json(...reverseArgs(loan, "A", "--amount", "1200"), "--yes");
  const sent = ["--currency", "INR", "--reference", `UTR-${loan}`, "--paid-on", TODAY, "--amount", "125"];
  expect(await cli.json("payout", "record", person, ...sent, "--until", String(asOf))).toMatchObject({
    outcome: "recorded",
    amount: "125.00",
    lines: 1,
  });
  expect(await cli.json("payout", "preview", person)).toMatchObject({
    payable: [],
    carried: [{ owed: "30.00", deducted: "30.00", lines: 1 }],
  });
  expect(await cli.json("ledger", "verify", "--lender", lender.code)).toMatchObject({ ok: true });
});

test("payout preview shows deductions by reversed payments, and carried sums", async () => {
  const { id } = await aFieldPartner(service);
  const person = publicId("fp", id);
  const loan = `PAY-${(loans += 1)}`;
  await lender.importCases([aRow(loan)]);
  await assign(service, lender.code, loan, id);
  await pay(loan, "A", 5000);
  const sent = ["--currency", "INR", "--reference", `UTR-${loan}`, "--paid-on", TODAY, "--amount", "125"];
  await cli.json("payout", "record", person, ...sent);
  await cli.json(...reverseArgs(loan, "A"), "--yes");
  expect(await cli.json("payout", "preview", person)).toMatchObject({
    payable: [],
    asOf: null,
    carried: [{ lenderCode: lender.code, currency: "INR", owed: "125.00", deducted: "125.00", lines: 1 }],
  });
  const { stdout } = await cli("payout", "preview", person);
  expect(stdout).toContain(`${lender.code}: 125.00 INR are carried over`);
  const other = `PAY-${(loans += 1)}`;
  await lender.importCases([aRow(other, { outstandingAmount: 8000 })]);
  await assign(service, lender.code, other, id);
  await pay(other, "B", 8000);
  expect(await cli.json("payout", "preview", person)).toMatchObject({
    payable: [{ amount: "75.00", lenders: [{ amount: "75.00", deducted: "125.00", lines: 2 }] }],
    carried: [],
  });
  expect((await cli("payout", "preview", person)).stdout).toContain(
    "125.00 INR are deducted, because payments were reversed",
  );
});
