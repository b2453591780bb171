import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { aLender, aRow, startTestService } from "../fixtures/fixture.ts";

const PAGE = await readFile(new URL("../../../../docs/lenders/reversals.md", import.meta.url), "utf8");
const ROW = /^\| (\d+) as of the (\d+)\w+ +\| [^|]+\| (\d+) +\| `(\w+)` if the (balance|reversal) arrives last +\|$/gm;
const DAY_MS = 24 * 60 * 60_000;
const TWENTIETH_MS = Date.now() - 10 * DAY_MS;
const rows = [...PAGE.matchAll(ROW)].map(([, balance, day, outstanding, warning, last]) => ({
  balance: Number(balance),
  day: Number(day),
  outstanding: Number(outstanding),
  warning: warning!,
  last: last!,
}));

const service = await startTestService({ hasWorker: false });
const lender = await aLender(service);

test("docs/lenders/reversals.md shows the outstanding amount for three balances", () => {
  expect(rows.map(({ day }) => day)).toEqual([20, 22, 24]);
});

test.each(rows.flatMap((row) => ["balance", "reversal"].map((arrivesLast) => ({ ...row, arrivesLast }))))(
  "a balance of $balance as of the $day, a payment on the 21st and its reversal on the 23rd leave $outstanding if the $arrivesLast arrives last",
  async ({ balance, day, outstanding, warning, last, arrivesLast }) => {
    const loan = `LN-${day}-${arrivesLast}`;
    const placed = { outstandingAmount: 1_000, outstandingAsOf: momentOf(20) };
    expect((await lender.importCases([aRow(loan, placed)])).body).toMatchObject({ success: true });
    const payment = { amount: 400, reference: "pay_1", paidAt: momentOf(21), mode: "upi" };
    expect((await lender.confirm(loan, payment)).status).toBe(200);

    const steps = { balance: importBalance, reversal: reverse };
    const order = arrivesLast === "balance" ? (["reversal", "balance"] as const) : (["balance", "reversal"] as const);
    for (const step of order) {
      const warnings = await steps[step](loan, { balance, day });
      expect(warnings.includes(warning)).toBe(step === last && step === arrivesLast);
    }
    expect((await lender.getCase(loan)).body).toMatchObject({ outstandingAfter: outstanding, totalCollected: 0 });
  },
);

async function importBalance(loan: string, { balance, day }: { balance: number; day: number }): Promise<string[]> {
  const row = aRow(loan, { outstandingAmount: balance, outstandingAsOf: momentOf(day) });
  const { body } = await lender.importCases([row]);
  return codesOf((body["results"] as { warnings: { code: string }[] }[])[0]!.warnings);
}

async function reverse(loan: string): Promise<string[]> {
  const reversal = {
    reference: "pay_1",
    reversalReference: "rev_1",
    reversedAt: momentOf(23),
    reason: "bank_reversed",
  };
  const { status, body, rawBody } = await lender.reverse(loan, reversal);
  expect(status, rawBody).toBe(200);
  return codesOf(body["warnings"] as { code: string }[]);
}

function codesOf(warnings: readonly { readonly code: string }[]): string[] {
  return warnings.map(({ code }) => code);
}

/** Returns a moment on a day of the page's example. The 20th is ten days ago. */
function momentOf(day: number): string {
  return new Date(TWENTIETH_MS + (day - 20) * DAY_MS).toISOString();
}
