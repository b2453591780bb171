import { accessibilityFindings, type Browser, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { linkPath } from "./fixtures/visitor.ts";

let service: TestService;
let browser: Browser;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service);
  await setup.lender.importCases(["LN-1", "LN-2", "LN-3"].map((loan) => aRow(loan)));
  const paidAt = new Date().toISOString();
  await setup.lender.confirm("LN-1", { amount: 1_250.5, reference: "U1", paidAt, mode: "upi" });
  await setup.lender.confirm("LN-2", { amount: 6_000, reference: "U2", paidAt, mode: "upi" });
  for (const disposition of ["NOT_AT_HOME", "NOT_AT_HOME", "REFUSED_TO_PAY"]) {
    const { visitId } = await setup.visit();
    const end = { visitId, occurredAt: new Date().toISOString(), disposition };
    await setup.app.mutate("completeVisit", end, "visit { visitId }");
  }
  await assign(service, setup.lender.code, "LN-1", setup.fieldPartnerId);
  const other = await aLender(service);
  await other.importCases([aRow("LN-77"), aRow("LN-77-A", { borrowerName: "Meena Kumari Venkatasubramanian" })]);
  browser = await startBrowser();
  afterFile(() => browser.close());
});

test.each([
  ["desktop", "light"],
  ["desktop", "dark"],
  ["phone", "light"],
  ["phone", "dark"],
] as const)("the console works in Chromium: %s, %s", async (screen, colorScheme) => {
  const { path } = await linkPath(service, "Asha Rao");
  const open = await browser.open(service.url + path, { screen, colorScheme });
  const { page } = open;
  const look = async (name: string) => {
    expect({ name, findings: await accessibilityFindings(page) }).toEqual({ name, findings: [] });
    expect({ name, overflow: await open.overflow() }).toEqual({ name, overflow: 0 });
    await open.screenshot(`console-${name}`);
  };
  await look("sign-in");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
  await look("today");
  await page.emulateMedia({ media: "print" });
  expect(await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")).toBe("rgb(255, 255, 255)");
  expect(await page.getByRole("button", { name: "Sign out" }).isVisible()).toBe(false);
  await open.screenshot("console-today-print");
  await page.emulateMedia({ media: "screen" });
  await page.getByRole("link", { name: "Search" }).click();
  await page.getByRole("heading", { level: 1, name: "Search" }).waitFor();
  await look("search");
  await page.getByRole("searchbox").fill("LN-77");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("status").waitFor();
  await look("results");
  await page.getByRole("searchbox").fill("LN-1");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("link", { name: "Ravi Kumar" }).first().click();
  await page.getByRole("heading", { level: 2, name: "Timeline" }).waitFor();
  await look("case");
  await page.getByRole("link", { name: "Cases", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Cases" }).waitFor();
  await look("cases");
  await page.getByRole("link", { name: "Unassigned", exact: true }).click();
  await page.getByRole("link", { name: "Field partners", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Field partners" }).waitFor();
  await look("field-partners");
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByRole("heading", { level: 2, name: "Sessions" }).waitFor();
  await look("field-partner");
  await page.getByRole("link", { name: "Lenders", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Lenders" }).waitFor();
  await look("lenders");
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByRole("heading", { level: 2, name: "Onboarding" }).waitFor();
  await look("lender");
  await page.getByRole("link", { name: "Money", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Money" }).waitFor();
  await look("money");
  await page.getByRole("link", { name: "System", exact: true }).click();
  await page.getByRole("heading", { level: 2, name: "Problems" }).waitFor();
  await look("system");
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  await look("audit");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { level: 1, name: "Signed out" }).waitFor();
  await page.goto(`${service.url}/console`);
  await look("no-session");
  expect(open.requestsElsewhere()).toEqual([]);
  expect(open.errors.filter((text) => !text.includes("401"))).toEqual([]);
  await open.close();
});
