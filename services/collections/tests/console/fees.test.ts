import { balance, commissionExpenseAccount, feeSums } from "@collections/bookings";
import { lenderByCode } from "@collections/lenders";
import { dayIn, spanOfMonth } from "@collections/local-time";
import { currency } from "@collections/money";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";
import { aLenderVisitor, aSignedInVisitor, type ConsoleAnswer, type Visitor } from "./fixtures/visitor.ts";

const PAYMENTS = 60;
const FORMULA_LOAN = "=cmd|' /C calc'!A0";

let service: TestService;
let setup: VisitSetup;
let other: VisitSetup;
let operator: Visitor;
let staff: Visitor;
let cli: Cli;
let month: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  setup = await visitSetup(service);
  other = await visitSetup(service);
  const at = new Date();
  month = dayIn("Asia/Kolkata", at).slice(0, 7);
  for (const { lender, fieldPartnerId } of [setup, other]) {
    for (const loan of ["LN-1", FORMULA_LOAN]) {
      await lender.importCases([aRow(loan, { outstandingAmount: 100_000 })]);
      await assign(service, lender.code, loan, fieldPartnerId);
    }
  }
  for (let number = 1; number <= PAYMENTS; number++) await pay(setup, "LN-1", `UTR-${number}`);
  await pay(setup, FORMULA_LOAN, "UTR-FORMULA");
  await pay(other, "LN-1", "UTR-OTHER");
  const reversal = { reference: "UTR-7", reversalReference: "RV-1", amount: 400, reason: "bounced" };
  await setup.lender.reverse("LN-1", { ...reversal, reversedAt: new Date().toISOString() });
  operator = await aSignedInVisitor(service);
  staff = await aLenderVisitor(service, setup.lender.code);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

async function pay({ lender }: VisitSetup, loan: string, reference: string): Promise<void> {
  const payment = { amount: 1_000, reference, paidAt: new Date().toISOString(), mode: "upi" };
  expect(await lender.confirm(loan, payment)).toMatchObject({ status: 200 });
}

function rowsOf({ text }: Pick<ConsoleAnswer, "text">): Record<string, string>[] {
  const [header, ...lines] = text
    .replace("\uFEFF", "")
    .trimEnd()
    .split("\r\n")
    .map((line) => line.split(","));
  return lines.map((cells) => Object.fromEntries(header!.map((name, index) => [name, cells[index]!])));
}

const minor = (amount: string) => BigInt(amount.replace(".", "") || "0");
const sumOf = (rows: readonly Record<string, string>[]) =>
  rows.reduce((sum, { fee, takenBack }) => sum + minor(fee!) - minor(takenBack!), 0n);

test("the CSV adds up to the movement of the commission account", async () => {
  const em = service.app.database.em();
  const lender = (await lenderByCode(em, setup.lender.code))!;
  const file = await operator.get(`/console/fees.csv?lender=${lender.code}&month=${month}`);
  const rows = rowsOf(file);
  expect(rows).toHaveLength(PAYMENTS + 2);
  const { balanceMinor } = await balance(em, lender.id, commissionExpenseAccount(lender.id, currency("INR")));
  expect(balanceMinor).toBeGreaterThan(0n);
  expect(sumOf(rows)).toBe(balanceMinor);
  const sums = await feeSums(em, lender.id, spanOfMonth(month, lender.timeZone));
  expect(sums[0]!.chargedMinor - sums[0]!.takenBackMinor).toBe(balanceMinor);
});

test("the CSV has a line for a payment and for its reversal", async () => {
  const file = await staff.get(`/console/fees.csv?lender=${setup.lender.code}&month=${month}`);
  expect(file.headers.get("content-disposition")).toContain(`fees-${setup.lender.code}-${month}.csv`);
  expect(file.headers.get("cache-control")).toBe("no-store");
  const lines = rowsOf(file).filter(({ reference }) => reference === "UTR-7");
  expect(lines).toMatchObject([
    { kind: "commission", sourceLoanNumber: "LN-1", paymentAmount: "1000.00", commissionPercent: "2.5", fee: "25.00" },
    { kind: "decrease", fee: "", takenBack: "10.00", memo: "Reversal RV-1 of payment UTR-7" },
  ]);
});

test("the CSV marks a loan number that a spreadsheet would run", async () => {
  const { text } = await staff.get(`/console/fees.csv?lender=${setup.lender.code}&month=${month}`);
  expect(text).toContain(`,'${FORMULA_LOAN},UTR-FORMULA,`);
});

test("the page has the sums and each line once", async () => {
  const first = await staff.get("/console/fees");
  expect(first.text).toMatch(/Total in INR<[^]*?>1,515\.00 INR<[^]*?>1,525\.00 INR<[^]*?61 lines[^]*?>10\.00 INR</);
  const next = /<p class="more"><a href="([^"]+)">Next page/.exec(first.text)![1]!.replaceAll("&amp;", "&");
  const second = await staff.get(next);
  const references = [first, second].flatMap(({ text }) => [...text.matchAll(/<th scope="row">\s*(UTR-\w+)/g)]);
  const payments = Array.from({ length: PAYMENTS }, (_, index) => `UTR-${index + 1}`);
  expect(references.map(([, reference]) => reference)).toEqual([...payments, "UTR-FORMULA", "UTR-7"]);
  expect(second.text).toMatch(/Reversal RV-1 of payment UTR-7[^]*?− 10\.00 INR/);
});

test("a month without payments has no line", async () => {
  const { text } = await operator.get(`/console/fees?lender=${setup.lender.code}&month=2020-02`);
  expect(text).toContain("No commission was booked in this month.");
  const file = await operator.get(`/console/fees.csv?lender=${setup.lender.code}&month=2020-02`);
  expect(file.text).toMatch(/^recordedAt,kind,[^\r]*\r\n$/);
});

test.each(["month=2026-13", "month=x", "month=", "after=x", "after=fee_0", "month=99999-01"])(
  "the page ignores the value of %s",
  async (query) => {
    const { status, text } = await operator.get(`/console/fees?lender=${setup.lender.code}&${query}`);
    expect(status).toBe(200);
    expect(text).toMatch(/<th scope="row">UTR-1 /);
  },
);

test.each(["month=2026-13", "month=2026-00", "month=2026-11-01"])("the file answers 404 to %s", async (query) => {
  expect(await operator.get(`/console/fees.csv?lender=${setup.lender.code}&${query}`)).toMatchObject({ status: 404 });
});

test("a lender's staff gets no statement of another lender", async () => {
  const { code } = other.lender;
  expect(await staff.get(`/console/fees.csv?lender=${code}&month=${month}`)).toMatchObject({ status: 404 });
  const { text } = await staff.get(`/console/fees?lender=${code}`);
  expect(text).toContain("There is no such lender.");
  expect(text).not.toContain("UTR-OTHER");
});

test("`ledger fees` prints the sums, and the lines as JSON or CSV", async () => {
  const { code } = setup.lender;
  const printed = await cli("ledger", "fees", code, "--month", month);
  expect(printed).toMatchObject({ code: 0, stderr: "" });
  expect(printed.stdout).toMatch(/Charged +61 +1,525\.00 INR\nTaken back +1 +10\.00 INR\nTotal +62 +1,515\.00 INR\n/);
  const json = await cli.json("ledger", "fees", code, "--month", month);
  expect(json).toMatchObject({ lenderCode: code, month, totals: [{ currency: "INR", total: "1515.00" }] });
  expect(json["lines"]).toHaveLength(PAYMENTS + 2);
  const csv = await cli("ledger", "fees", code, "--month", month, "--csv");
  const file = await operator.get(`/console/fees.csv?lender=${code}&month=${month}`);
  // fetch removes the byte order mark from a text.
  expect(csv.stdout).toBe(`\uFEFF${file.text}`);
});

test("`ledger fees` refuses a month that is none", async () => {
  const refused = await cli("ledger", "fees", setup.lender.code, "--month", "2026-13");
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("such as 2026-11") as string });
});
