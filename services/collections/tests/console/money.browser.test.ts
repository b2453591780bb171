import { type Browser, startBrowser } from "@collections/browser";
import { publicId } from "@collections/database";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { pageFaults } from "./fixtures/page-faults.ts";
import { linkPath } from "./fixtures/visitor.ts";

let service: TestService;
let browser: Browser;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false, settings: { CONSOLE_SECOND_PERSON_ABOVE: "INR:1000" } });
  browser = await startBrowser();
  afterFile(() => browser.close());
});

test.each(["desktop", "phone"] as const)(
  "two operators change money in Chromium: %s, light and dark",
  async (screen) => {
    const setup = await visitSetup(service);
    const { loan } = await setup.assignedCase();
    const { code } = setup.lender;
    const paidAt = new Date(Date.now() - 120_000).toISOString();
    await setup.lender.confirm(loan, { amount: 2_000, reference: "UTR-1", paidAt, mode: "upi" });
    const { loan: other } = await setup.assignedCase();
    await setup.lender.confirm(other, {
      amount: 5_000,
      reference: "UTR-2",
      paidAt: new Date().toISOString(),
      mode: "upi",
    });
    const openAs = async (name: string) => {
      const { path } = await linkPath(service, name, ["money"]);
      const open = await browser.open(service.url + path, { screen });
      await open.page.getByRole("button", { name: "Sign in" }).click();
      await open.page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
      return open;
    };
    const asha = await openAs("Asha");
    const { page } = asha;
    const look = async (name: string, { open = asha } = {}) => {
      const faults = await pageFaults(open, `money-${name}`);
      expect.soft({ name, faults }).toEqual({ name, faults: [] });
    };
    await page.getByRole("link", { name: "Money", exact: true }).click();
    await page.getByRole("heading", { level: 2, name: "Reverse or move a payment" }).waitFor();
    await look("money");
    const find = page.locator("form.act");
    await find.getByLabel("Lender").selectOption(code);
    await find.getByLabel("Loan").fill(loan);
    await find.getByLabel("Reference").fill("UTR-1");
    await find.getByRole("button").click();
    await page.getByRole("heading", { level: 1, name: "Payment UTR-1" }).waitFor();
    await look("payment");
    await page.getByLabel("The lender's id of the reversal").fill("RV-1");
    await page.getByLabel("Reason, which the lender sees").selectOption("bounced");
    // The lender's local time, to the minute.
    const local = new Date(Date.now() - 60_000).toLocaleString("sv-SE", { timeZone: "Asia/Kolkata" });
    await page.getByLabel(/When the money was returned/).fill(local.slice(0, 16).replace(" ", "T"));
    await page.getByRole("button", { name: "Show the effects" }).first().click();
    await page.getByRole("button", { name: "Reverse the payment" }).waitFor();
    await look("effects");
    await page.getByRole("button", { name: "Reverse the payment" }).click();
    await page.getByText("another operator with the role money confirms the change").waitFor();
    await look("own-request");
    const ravi = await openAs("Ravi");
    await ravi.page.goto(`${service.url}/console/money/requests`);
    await look("requests", { open: ravi });
    await ravi.page.getByRole("link", { name: "Reverse the payment: UTR-1" }).first().click();
    await ravi.page.getByRole("button", { name: "Decline" }).waitFor();
    await look("request", { open: ravi });
    await ravi.page.getByRole("button", { name: "Confirm: reverse the payment" }).click();
    await ravi.page.getByText("Confirmed").waitFor();
    await look("confirmed", { open: ravi });
    await page.getByRole("link", { name: "The payment" }).click();
    await page.getByText("RV-1").waitFor();
    await page.goto(`${service.url}/console/money/payouts/${publicId("fp", setup.fieldPartnerId)}`);
    await look("payout");
    await page.getByLabel(/Bank reference/).fill(`PO-${code}`);
    await page.getByLabel("Day of the transfer").fill(new Date().toISOString().slice(0, 10));
    await page.getByRole("button", { name: "Show the effects" }).click();
    await page.getByRole("button", { name: "Record the payout" }).click();
    await page.getByText("The payout is recorded.").waitFor();
    await page.goto(`${service.url}/console/money/changes?kind=payout`);
    for (const open of [asha, ravi]) {
      expect(open.requestsElsewhere()).toEqual([]);
      expect(open.errors.filter((text) => !text.includes("404"))).toEqual([]);
      await open.close();
    }
  },
);
