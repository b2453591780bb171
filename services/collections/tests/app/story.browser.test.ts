import type { Browser } from "@collections/browser";
import { beforeAll, expect, test } from "vitest";
import type { LenderTwin } from "@collections/lender-twin";
import { migrate } from "@collections/database";
import { testDatabase } from "@collections/testing";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { aBrowser, aPhone, type AppPhone } from "./fixtures/app-phone.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aRow } from "../fixtures/fixture.ts";
import {
  aRegisteredFieldPartner,
  aRegisteredLender,
  FIELD_PARTNER_PHONE,
  type ServiceProcess,
  startProcess,
} from "../fixtures/processes.ts";

let sandbox: ServiceProcess;
let lender: LenderTwin;
let browser: Browser;
let phone: AppPhone;

beforeAll(async () => {
  const { url } = await testDatabase("field-app", (at) =>
    migrate({ url: at, schemas, jobsSchema, jobs: true }).then(() => {}),
  );
  const settings = { DATABASE_URL: url };
  const cli = commandsInProcess(settings);
  [sandbox, browser] = await Promise.all([startProcess(settings), aBrowser()]);
  const fallback = {
    "fallback-upi-id": "acme@okbank",
    "fallback-bank": "accountNumber=50100012345678,ifsc=HDFC0000123",
  };
  lender = await aRegisteredLender(cli, sandbox.url, { name: "Sparkasse Köln-Süd", ...fallback });
  const fieldPartnerId = await aRegisteredFieldPartner(cli);
  await lender.importCases([
    aRow("LN-1001", { dpd: 42, addresses: [{ line1: "14, Lakshmi Road", city: "Pune", country: "IN" }] }),
  ]);
  await cli.json("case", "assign", "ACME", "LN-1001", fieldPartnerId);
  phone = await aPhone(browser, sandbox.url);
});

test("a field partner signs in, makes a visit, sees the link minted and paid live, and sees the earning", async () => {
  const { page, at, press, look } = phone;
  await at("Sign in");
  await look("sign-in");
  await page.getByLabel("Mobile number").fill(FIELD_PARTNER_PHONE.replace("+91", "+91 "));
  await press("Send me a code");
  await expect.poll(codeInLog).toBeDefined();
  await look("code");
  await page.getByLabel("Code").fill(codeInLog()!);

  await at("Good");
  await page.getByText("14, Lakshmi Road, Pune").waitFor();
  await look("today");
  await press("Open the case");
  await at("Case");
  await page.getByText("98•••••001").waitFor();
  await page.getByRole("button", { name: "Show the whole number" }).click();
  await page.getByRole("link", { name: "+919800000001" }).waitFor();
  await look("case");

  await press("Start the visit");
  await at("At the door");
  await page.getByLabel(/^How much will they pay/).fill("2,500");
  await page.getByText("₹62.50").waitFor();
  await look("visit");
  await press("Get a payment link");
  await at("Payment link");
  await page.getByText("Ready to show").waitFor();
  await look("link");
  const [linkId] = [...lender.links.keys()];
  expect(await page.locator(".url").textContent()).toBe(lender.payUrl(linkId!));
  expect(await phone.scan("QR code of the payment link")).toBe(lender.payUrl(linkId!));

  // The access token has expired meanwhile. The app refreshes the session and shows nothing about it.
  await page.evaluate(`{
      const name = "collections.session";
      localStorage.setItem(name, localStorage.getItem(name).replace(/fpt_[^"]*/, "fpt_ended"));
    }`);
  await lender.pay(linkId!);
  await page.getByText("You have earned here").waitFor();
  await page.getByText("₹2,500.00 is still owed.").waitFor();
  await look("paid");

  await press("End the visit");
  await at("How did it end?");
  expect(await page.getByLabel("Paid by the link").isChecked()).toBe(true);
  await look("outcome");
  await press("Save and finish");
  await at("Good");
  await page.locator(".figures").getByText("₹62.50").waitFor();
  expect(await page.locator(".figures").innerText()).toMatch(/Collected\s+₹2,500\.00\s+Visits\s+1/);
  await look("today-paid");
  // The visit has ended, so the back button leads to the screen before it.
  await press("Cases");
  await at("Cases");
  await page.goBack();
  await at("Good");
  expect(await page.evaluate("history.state.depth")).toBe(1);

  await press("Money");
  await page.getByText("2.5% of ₹2,500.00").waitFor();
  await look("money");
  await press("Me");
  await at("Asha Rao");
  await page.getByText("This phone").waitFor();
  await look("me");
  await press("Sign out");
  await at("Sign in");
  // No borrower data and no token stay on the phone.
  expect(await page.evaluate("Object.keys(localStorage).filter((name) => /answer|session/.test(name))")).toEqual([]);

  // Refreshing the expired token causes no error in the app.
  expect(phone.errors).toEqual([]);
  expect(phone.requestsElsewhere()).toEqual([]);
});

test("a field partner chooses the country, types the number in Devanagari, has the code sent again, and signs in with the new code", async () => {
  const { page, press, at, errors } = await aPhone(browser, sandbox.url);
  await page.clock.install();
  await page.reload();
  await at("Sign in");
  await page.getByLabel("Country").selectOption("India (+91)");
  await page.getByLabel("Mobile number").fill(inDevanagari(FIELD_PARTNER_PHONE.replace("+91", "")));
  const before = codesInLog().length;
  await press("Send me a code");
  await expect.poll(() => codesInLog().length).toBe(before + 1);
  const again = page.getByRole("button", { name: /^Send the code again/ });
  await expect.poll(() => again.isEnabled()).toBe(false);
  await page.clock.fastForward(31_000);
  await again.click();
  await expect.poll(() => codesInLog().length).toBe(before + 2);
  await page.getByText("Use the newest code.").waitFor();
  await page.getByLabel("Code", { exact: true }).fill(inDevanagari(codesInLog().at(-1)!));
  await at("Good");
  expect(errors).toEqual([]);
});

function codeInLog(): string | undefined {
  return codesInLog().at(-1);
}

/** Returns all codes that the sandbox has logged, the newest last. */
function codesInLog(): string[] {
  return [...sandbox.log().matchAll(/sign-in code (\d{6})/g)].map(([, code]) => code!);
}

function inDevanagari(digits: string): string {
  return digits.replaceAll(/\d/g, (digit) => String.fromCodePoint(0x09_66 + Number(digit)));
}
