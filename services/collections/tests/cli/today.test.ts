import { dayIn } from "@collections/local-time";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { visitSetup, type VisitSetup } from "../fixtures/visit-setup.ts";

const ZONE = "Asia/Kolkata";

let service: TestService;
let cli: Cli;
let setup: VisitSetup;
let lender: VisitSetup["lender"];
/** The local day of the payments and visits. */
let today: string;

interface ShownLender extends Record<string, unknown> {
  readonly lenderCode: string;
}

interface Shown {
  readonly lenders: readonly ShownLender[];
  readonly nextCursor: string | null;
}

async function show(...args: string[]): Promise<Shown> {
  return (await cli.json("today", ...args)) as unknown as Shown;
}

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  setup = await visitSetup(service, { code: "MMM", timeZone: ZONE });
  lender = setup.lender;
  const other = await aLender(service, { code: "ZZZ", timeZone: "Pacific/Kiritimati" });
  await lender.importCases([aRow("LN-1"), aRow("LN-2"), aRow("LN-3")]);
  await other.importCases([aRow("LN-1")]);
  await assign(service, lender.code, "LN-1", setup.fieldPartnerId);
  today = dayIn(ZONE, new Date());
  const paidAt = new Date().toISOString();
  await lender.confirm("LN-1", { amount: 1_250.5, reference: "U1", paidAt, mode: "upi" });
  await lender.confirm("LN-2", { amount: 6_000, reference: "U2", paidAt, mode: "upi" });
  await other.confirm("LN-1", { amount: 77, reference: "U1", paidAt, mode: "upi" });
  const reversal = ["--reversal-reference", "RV-1", "--reversed-at", new Date().toISOString(), "--reason", "bounced"];
  await cli.json("payment", "reverse", lender.code, "LN-1", "U1", ...reversal, "--amount", "250.50", "--yes");
  const { visitId } = await setup.visit();
  const end = { visitId, occurredAt: new Date().toISOString(), disposition: "NOT_AT_HOME" };
  await setup.app.mutate("completeVisit", end, "visit { visitId }");
});

test("`today --json` shows the figures of the day and of the day before in the lender's time zone", async () => {
  const nothing = { count: 0, amounts: [] };
  expect(await show("--lender", "mmm", "--day", today)).toEqual({
    lenders: [
      {
        lenderCode: "MMM",
        timeZone: ZONE,
        day: {
          day: today,
          payments: { count: 2, amounts: [{ amount: "7250.50", currency: "INR" }] },
          reversals: { count: 1, amounts: [{ amount: "250.50", currency: "INR" }] },
          deductions: nothing,
          reconciliations: { windows: 0, differences: 0 },
          excess: { count: 1, amounts: [{ amount: "1000.00", currency: "INR" }] },
          visits: { count: 1, byDisposition: { NOT_AT_HOME: 1 } },
          promises: { due: 0, kept: 0, broken: 0 },
          paymentLinks: { requested: 0, minted: 0, unavailable: 0 },
          activeFieldPartners: 1,
        },
        dayBefore: {
          day: new Date(Date.parse(`${today}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10),
          payments: nothing,
          reversals: nothing,
          deductions: nothing,
          reconciliations: { windows: 0, differences: 0 },
          excess: nothing,
          visits: { count: 0, byDisposition: {} },
          promises: { due: 0, kept: 0, broken: 0 },
          paymentLinks: { requested: 0, minted: 0, unavailable: 0 },
          activeFieldPartners: 0,
        },
        unassignedCases: { count: 1, isComplete: true },
        endpoints: { endpoints: 1, suspended: 0, failing: 0 },
      },
    ],
    nextCursor: null,
  });
});

test("`today` shows one block for each lender, in pages", async () => {
  const first = await show("--limit", "1");
  expect(first).toMatchObject({ lenders: [{ lenderCode: "MMM" }], nextCursor: "MMM" });
  const second = await show("--limit", "1", "--cursor", "MMM");
  expect(second).toMatchObject({
    lenders: [
      { lenderCode: "ZZZ", timeZone: "Pacific/Kiritimati", day: { day: dayIn("Pacific/Kiritimati", new Date()) } },
    ],
    nextCursor: null,
  });
  expect(await show("--cursor", "ZZZ")).toEqual({ lenders: [], nextCursor: null });
  const { stdout } = await cli("today", "--limit", "1", "--day", today);
  expect(stdout).toMatch(/^MMM +\d{4}-\d\d-\d\d +\d{4}-\d\d-\d\d\n/);
  expect(stdout).toMatch(/\npayments +2: 7,250\.50 INR +0\n/);
  expect(stdout).toMatch(/\nreversals +1: 250\.50 INR +0\n/);
  expect(stdout).toMatch(/\nexcess +1: 1,000\.00 INR +0\n/);
  expect(stdout).toMatch(/\nvisits +1 +0\n {2}NOT_AT_HOME +1 +0\npromises due +0 +0\n/);
  expect(stdout).toContain(
    "\nDays in Asia/Kolkata. Now: 1 unassigned open case; unhealthy endpoints: 0 of 1 (0 suspended, 0 failing).\n",
  );
  expect(stdout).toMatch(/\n\nMore: add --cursor MMM\n$/);
});

test.each([
  [["--day", "2026-02-30"], "Expected a day such as"],
  [["--day", "yesterday"], "Expected a day such as"],
  [["--limit", "201"], "Expected a number from 1 to 200"],
  [["--cursor", "x y"], "Expected the nextCursor of a page"],
  [["--lender", "MMM", "--cursor", "MMM"], "Give either --lender or --cursor"],
])("`today %j` is refused with advice", async (args, advice) => {
  const { code, stderr } = await cli("today", ...args);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(advice) as string });
});

test("`today` exits with 3 for an unknown lender", async () => {
  expect(await cli("today", "--lender", "NOBODY")).toMatchObject({ code: 3, stderr: "There is no lender NOBODY.\n" });
});
