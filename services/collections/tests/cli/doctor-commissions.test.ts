import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicId } from "@collections/database";
import { afterFile } from "@collections/testing";
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

vi.setConfig({ testTimeout: 60_000 });

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let fieldPartner: { id: string };
let cli: Cli;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

/** Makes a lender, a loan of 5,000 that is assigned to a new field partner, and a loan that nobody has. */
beforeEach(async () => {
  lender = await aLender(service);
  fieldPartner = await aFieldPartner(service);
  await lender.importCases([aRow("LN-1"), aRow("LN-2")]);
  await assign(service, lender.code, "LN-1", fieldPartner.id);
});

const now = () => new Date().toISOString();

async function confirm(loan: string, reference: string, paidAt = now()): Promise<void> {
  const { status } = await lender.confirm(loan, { amount: 5000, reference, paidAt, mode: "upi" });
  expect(status).toBe(200);
}

async function reverse(loan: string, reference: string, reason: string, more = {}): Promise<void> {
  const reversal = { reversalReference: randomUUID(), reversedAt: now(), reason, ...more };
  expect(await lender.reverse(loan, { reference, ...reversal })).toMatchObject({ status: 200 });
}

interface Problem {
  readonly code: string;
  readonly detail: string;
}

async function problems(code: string): Promise<Problem[]> {
  const found = (await cli.json("doctor", "--lender", lender.code)) as unknown as { problems: Problem[] };
  return found.problems.filter((problem) => problem.code === code);
}

async function payOut(): Promise<void> {
  const order = ["--currency", "INR", "--reference", randomUUID(), "--paid-on", now().slice(0, 10), "--amount", "125"];
  await cli.json("payout", "record", publicId("fp", fieldPartner.id), ...order);
}

test("`doctor` lists commissions that were taken back after they had been paid out", async () => {
  await confirm("LN-1", "UTR1");
  await payOut();
  expect(await problems("COMMISSIONS_TAKEN_BACK")).toEqual([]);
  await reverse("LN-1", "UTR1", "bounced", { amount: 1000 });
  expect(await problems("COMMISSIONS_TAKEN_BACK")).toMatchObject([
    {
      severity: "warning",
      lenderCode: lender.code,
      count: 1,
      detail: `Reversals have taken back commissions of 1 payment after they had been paid out: 25.00 INR of 1 field partner (${publicId("fp", fieldPartner.id)}) are not deducted yet.`,
    },
  ]);
  expect((await cli("doctor", "--lender", lender.code)).stdout).toContain("warning COMMISSIONS_TAKEN_BACK");
});

test("`today` counts what the next payouts deduct", async () => {
  await confirm("LN-1", "UTR1");
  await payOut();
  await reverse("LN-1", "UTR1", "bounced", { amount: 1000 });
  expect((await cli("today", "--lender", lender.code)).stdout).toMatch(/\ndeductions +1: 25\.00 INR +0\n/);
});

test("`doctor` and `today` know the differences of the latest reconciliation", async () => {
  await confirm("LN-1", "UTR1");
  const day = new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Kolkata" }).format();
  const folder = mkdtempSync(join(tmpdir(), "doctor-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "payments.csv");
  const reconcile = async (...lines: string[]) => {
    writeFileSync(path, ["Loan No,UTR,Amount,Paid On,Payment Mode", ...lines, ""].join("\n"));
    return cli("payment", "reconcile", path, "--lender", lender.code, "--day", day);
  };
  const ours = `LN-1,UTR1,5000.00,${now()},upi`;
  expect(await reconcile(ours, `LN-2,UTR2,70.00,${now()},upi`)).toMatchObject({ code: 6 });
  expect(await problems("RECONCILIATION_DIFFERS")).toMatchObject([
    { severity: "warning", lenderCode: lender.code, count: 1, remedy: expect.stringMatching(/rec_[0-9a-f]{32} shows/) },
  ]);
  const figures = async () => (await cli("today", "--lender", lender.code)).stdout;
  expect(await figures()).toMatch(/\nreconciliations +1: 1 difference +0\n/);
  expect(await reconcile(ours)).toMatchObject({ code: 0 });
  expect(await problems("RECONCILIATION_DIFFERS")).toEqual([]);
  expect(await figures()).toMatch(/\nreconciliations +1: 0 differences +0\n/);
});

test("`doctor` does not list a commission that was lowered before it was paid out", async () => {
  await confirm("LN-1", "UTR1");
  await reverse("LN-1", "UTR1", "bounced", { amount: 1000 });
  expect(await problems("COMMISSIONS_TAKEN_BACK")).toEqual([]);
});

test.each([
  ["of another loan", "wrong_loan", "LN-2", "UTR1", false],
  ["with another reference", "entered_by_mistake", "LN-2", "UTR2", true],
])(
  "`doctor` lists a payment that was booked again without a field partner: %s",
  async (_, reason, loan, reference, isSameTime) => {
    const paidAt = now();
    await confirm("LN-1", "UTR1", paidAt);
    await reverse("LN-1", "UTR1", reason);
    expect(await problems("REBOOKED_WITHOUT_FIELD_PARTNER")).toEqual([]);
    await confirm(loan, reference, isSameTime ? paidAt : now());
    const expected = {
      severity: "warning",
      count: 1,
      detail: `Payments of field partners were reversed as wrong_loan or entered_by_mistake, and booked again without a field partner: 1 payment of 5,000.00 INR in total, which earn no commission (${loan} ${reference}).`,
    };
    expect(await problems("REBOOKED_WITHOUT_FIELD_PARTNER")).toMatchObject([expected]);
    await reverse(loan, reference, "other");
    expect(await problems("REBOOKED_WITHOUT_FIELD_PARTNER")).toEqual([]);
  },
);

test("`doctor` does not list bounced payments, or payments that never had a field partner", async () => {
  await confirm("LN-1", "UTR1");
  await reverse("LN-1", "UTR1", "bounced");
  await confirm("LN-2", "UTR1");
  await lender.importCases([aRow("LN-3")]);
  await confirm("LN-3", "UTR3");
  await reverse("LN-3", "UTR3", "wrong_loan");
  await confirm("LN-1", "UTR3");
  expect(await problems("REBOOKED_WITHOUT_FIELD_PARTNER")).toEqual([]);
});
