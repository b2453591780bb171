import { publicId } from "@collections/database";
import type { Browser } from "@collections/browser";
import { beforeAll, expect, test } from "vitest";
import { aBrowser } from "./fixtures/app-phone.ts";
import { aPhoneAtACase } from "./fixtures/phone-at-case.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

const TODAY = new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Kolkata" }).format();

let service: TestService;
let browser: Browser;
let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService(), aBrowser()]);
  lender = await aLender(service);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

async function pay(loan: string, reference: string, amount: number): Promise<void> {
  const answer = await lender.confirm(loan, { amount, reference, paidAt: new Date().toISOString(), mode: "upi" });
  expect(answer.status, answer.rawBody).toBe(200);
}

async function payOut(fieldPartnerId: string, reference: string, amount: string): Promise<void> {
  const sent = ["--currency", "INR", "--reference", reference, "--paid-on", TODAY, "--amount", amount];
  await cli.json("payout", "record", publicId("fp", fieldPartnerId), ...sent);
}

async function reverse(loan: string, reference: string, reason: string, ...more: string[]): Promise<void> {
  await cli.json(
    "payment",
    "reverse",
    lender.code,
    loan,
    reference,
    "--reversal-reference",
    `RV-${loan}-${more.join("")}`,
    "--reversed-at",
    new Date().toISOString(),
    "--reason",
    reason,
    "--yes",
    ...more,
  );
}

test("the app says on the case, at the door, in the earnings and without a network that a paid-out earning will be deducted", async () => {
  const { phone, loan, fieldPartnerId } = await aPhoneAtACase({ service, browser, lender });
  const { page, press, at, look, network } = phone;
  const open = (path: string) => page.evaluate(`void (location.hash = "#/${path}")`);
  const caseId = page.url().split("/").at(-1)!;
  const said = () => page.getByText("₹125.00 will be deducted from your next payout.");
  await pay(loan, "A", 5000);
  await payOut(fieldPartnerId, `UTR-${loan}`, "125");
  await reverse(loan, "A", "bank_reversed");
  await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");
  await page.reload();
  await at("Case");
  await page.getByText("₹5,000.00 was returned by the bank.").waitFor();
  await said().waitFor();
  await look("reversal-case");

  await press("Start the visit");
  await at("At the door");
  await said().waitFor();
  await look("reversal-visit");

  await open("money");
  await page.getByText("Next payout").waitFor();
  await page.getByText("₹5,000.00 was returned by the bank.").waitFor();
  await page.getByText("Deducted for returned payments").waitFor();
  expect(await page.locator(".lines.card li").first().innerText()).toMatch(
    /returned by the bank\.\s+2\.5% of ₹0\.00 instead of ₹5,000\.00[^]*-₹125\.00\s+Next payout/,
  );
  await look("reversal-money");

  await network(false);
  await page.reload();
  await page.getByText("Next payout").waitFor();
  await open(`case/${caseId}`);
  await at("Case");
  await said().waitFor();
  await look("reversal-offline");
  await network(true);

  // After the next payout, the app says when the amount was deducted.
  const other = `${loan}-B`;
  await lender.importCases([aRow(other, { outstandingAmount: 8000 })]);
  await cli.json("case", "assign", lender.code, other, publicId("fp", fieldPartnerId));
  await pay(other, "B", 8000);
  await payOut(fieldPartnerId, `UTR-${other}`, "75");
  await page.reload();
  await at("Case");
  await page.getByText(/₹125\.00 was deducted from your payout of \w/).waitFor();
  // Requests without a network are the only errors.
  expect(phone.errors.filter((error) => !error.includes("ERR_INTERNET_DISCONNECTED"))).toEqual([]);
});

test("the app shows how the reversal of a part of a payment lowers an unpaid earning, and how the next reversal ends it", async () => {
  const { phone, loan } = await aPhoneAtACase({ service, browser, lender });
  const { page, at, look } = phone;
  await pay(loan, "A", 2000);
  await reverse(loan, "A", "bounced", "--amount", "800");
  await page.reload();
  await at("Case");
  await page.getByText("₹800.00 of ₹2,000.00 bounced.").waitFor();
  await page.getByText("You earn ₹20.00 less for it.").waitFor();
  await look("reversal-part");

  await reverse(loan, "A", "chargeback");
  await page.reload();
  await at("Case");
  await page.getByText("₹1,200.00 of ₹2,000.00 was charged back by the borrower’s bank.").waitFor();
  await page.getByText("You no longer earn ₹30.00 for it.").waitFor();
  await look("reversal-rest");
  await page.evaluate('void (location.hash = "#/money")');
  await page.getByText("No longer counts").first().waitFor();
  await look("reversal-money-not-paid");
  expect(phone.errors).toEqual([]);
});

test("the app shows on a paid link that its payment was returned, and leads back to the case", async () => {
  const { phone, loan } = await aPhoneAtACase({ service, browser, lender });
  const { page, at, press, look } = phone;
  await press("Start the visit");
  await at("At the door");
  await page.getByLabel(/^How much/).fill("2,500");
  await press("Get a payment link");
  await page.getByText("Ready to show").waitFor();
  const linkId = [...lender.links].find(([, link]) => link.sourceLoanNumber === loan)![0];
  await lender.pay(linkId);
  await page.getByText("You have earned here").waitFor();
  const { reference } = lender.captures.find(({ sourceLoanNumber }) => sourceLoanNumber === loan)!;
  await reverse(loan, reference, "wrong_loan");
  await page.reload();
  await page.getByText(/^Paid, and returned on \w/).waitFor();
  await page.getByText("₹2,500.00 belongs to another loan.").waitFor();
  await page.getByText("You no longer earn ₹62.50 for it.").waitFor();
  await look("reversal-link");
  await press("Open the case");
  await at("Case");
  expect(phone.errors).toEqual([]);
});
