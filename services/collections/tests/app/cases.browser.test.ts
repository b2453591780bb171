import type { Browser } from "@collections/browser";
import { beforeAll, describe, expect, test } from "vitest";
import { aBrowser, aPhone, type AppPhone } from "./fixtures/app-phone.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";

const CASES = 41;
const HERE = { latitude: 18.52, longitude: 73.8567 };

let service: TestService;
let browser: Browser;
let phone: AppPhone;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService({ hasWorker: false }), aBrowser()]);
  const lender = await aLender(service, { name: "Sparkasse Köln-Süd" });
  const { id, accessToken } = await aFieldPartner(service);
  const address = (line1: string, latitude: number) => ({
    addresses: [{ line1, city: "Pune", country: "IN", latitude, longitude: HERE.longitude }],
  });
  const rows = [
    aRow("L-1", {
      borrowerName: "श्री रामचंद्र विष्णु कुलकर्णी",
      outstandingAmount: 125_000.5,
      dpd: 91,
      ...address("Flat 7, Shanti Apartments, behind the old post office, Karve Nagar", 18.54),
    }),
    aRow("L-2", {
      borrowerName: "Annegret Freifrau von Müller-Lüdenscheidt-Großkreutz",
      outstandingAmount: 98_765_432.1,
      dpd: 45,
    }),
    aRow("L-3", { borrowerName: "Meera Iyer", dpd: 12, ...address("3, Tilak Road", 18.5215) }),
    ...Array.from({ length: CASES - 3 }, (_, index) => aRow(`M-${index}`, { borrowerName: `Borrower ${index}` })),
  ];
  await lender.importCases(rows);
  for (const row of rows) await assign(service, lender.code, String(row["sourceLoanNumber"]), id);
  await lender.importCases([{ sourceLoanNumber: "M-0", action: "hold", reason: "Complaint" }]);
  phone = await aPhone(browser, service.url, accessToken);
});

describe("the app's list of cases", () => {
  test("fits names of every script and length, and loads more cases on scrolling", async () => {
    const { page, press, look } = phone;
    await look("today-long-names");
    await press("Cases");
    await page.getByText("Freifrau").waitFor();
    await look("cases");
    const rows = page.locator(".row");
    for (let seen = 0; seen < CASES - 1; seen = await rows.count()) {
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      await expect.poll(() => rows.count()).toBeGreaterThan(seen);
    }
    expect(await rows.count()).toBe(CASES - 1);
  });

  test("can be searched, filtered, and sorted by distance", async () => {
    const { page, press, look } = phone;
    const names = () => page.locator(".row .name").allTextContents();
    await page.getByLabel("Search").fill("meera");
    await expect.poll(names).toEqual(["Meera Iyer"]);
    await page.getByLabel("Search").fill("nobody at all");
    await page.getByText("No case found").waitFor();
    await look("no-cases");
    await page.getByLabel("Search").fill("");
    await page.getByText("Not now").click();
    await expect.poll(names).toEqual(["Borrower 0"]);
    await page.getByText("All", { exact: true }).click();
    await page.context().grantPermissions(["geolocation"]);
    await page.context().setGeolocation(HERE);
    await page.getByLabel("Sort and filter").click();
    await page.getByLabel("Nearest to me").check();
    await page.getByLabel("Pune (2)").check();
    await look("filters");
    await press("Show cases");
    await expect.poll(names).toEqual(["Meera Iyer", "श्री रामचंद्र विष्णु कुलकर्णी"]);
    await page.getByText("2 cases", { exact: true }).waitFor();
    await page.getByText("170 m").waitFor();
    await page.getByText("2.2 km").waitFor();
    await look("near-me");
    // Going back from a case shows the same list again.
    await press("Meera Iyer");
    await phone.at("Case");
    await page.goBack();
    await expect.poll(names).toEqual(["Meera Iyer", "श्री रामचंद्र विष्णु कुलकर्णी"]);
  });

  test("opens a case with a very long name, and a held case that says why it cannot be visited", async () => {
    const { page, press, at, look } = phone;
    const names = () => page.locator(".row .name").allTextContents();
    // Without a network the same sheet and the same list come from the cases on the phone.
    await phone.dayStored();
    await phone.network(false);
    await page.getByLabel("Sort and filter, 2 set").click();
    await page.getByText("The cities need a network.").waitFor();
    await page.getByLabel("Sparkasse Köln-Süd (41)").check();
    await press("Show cases");
    await expect.poll(names).toEqual(["Meera Iyer", "श्री रामचंद्र विष्णु कुलकर्णी"]);
    await page.getByText("170 m").waitFor();
    await phone.network(true);
    await page.getByLabel("Sort and filter").click();
    await press("Clear");
    await page.getByText("Freifrau").click();
    await at("Case");
    await page.getByText("₹9,87,65,432.10").first().waitFor();
    await look("case-long-name");
    await page.goBack();
    await page.getByText("Not now").click();
    await press("Borrower 0");
    await at("Case");
    await page.locator(".notice.warn").waitFor();
    await look("case-on-hold");
    expect(await page.getByText("Start the visit").count()).toBe(0);
    expect(phone.errors.filter((error) => !error.includes("ERR_INTERNET_DISCONNECTED"))).toEqual([]);
    expect(phone.requestsElsewhere()).toEqual([]);
  });
});

describe("every screen of the app", () => {
  test("has accessible names and controls of at least 44 pixels", async () => {
    const { page, at } = phone;
    for (const hash of ["#/today", "#/cases", "#/money", "#/me", "#/waiting"]) {
      await page.goto(`${service.url}/app${hash}`);
      await page.locator("h1").waitFor();
      await expect.poll(() => page.locator(".ghost").count()).toBe(0);
      expect(await page.evaluate(FAULTS), hash).toEqual([]);
    }
    await page.goto(`${service.url}/app#/today`);
    await page.getByText("Open the case").click();
    await at("Case");
    await page.getByText("To collect").waitFor();
    expect(await page.evaluate(FAULTS)).toEqual([]);
  });

  test("says that there are no cases and earnings if the field partner has none", async () => {
    const { accessToken } = await aFieldPartner(service);
    const empty = await aPhone(browser, service.url, accessToken);
    await empty.page.getByText("Nothing to do just now").waitFor();
    await empty.look("today-empty");
    await empty.press("Cases");
    await empty.page.getByText("No case to visit").waitFor();
    await empty.press("Money");
    await empty.page.getByText("Nothing earned yet").waitFor();
    await empty.look("money-empty");
    expect(empty.errors).toEqual([]);
    await empty.close();
  });
});

/**
 * A script that lists the controls that have no accessible name, are smaller than 44 pixels, or cannot get the focus.
 */
const FAULTS = `[...document.querySelectorAll("a, button, input, textarea, summary")]
  .filter((one) => one.checkVisibility() && !one.closest(".choice, .option"))
  .flatMap((one) => {
    const { width, height } = one.getBoundingClientRect();
    const name = one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.[0]?.textContent;
    const faults = [!name && "no name", height < 44 && "low: " + height, width < 44 && "narrow: " + width, one.tabIndex < 0 && "no focus"];
    return faults.filter(Boolean).map((fault) => one.outerHTML.slice(0, 80) + ": " + fault);
  })`;
