import { accessibilityFindings, type Screen, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { serveDocumentation } from "./fixtures/serve-documentation.ts";

const SCREENS: readonly Screen[] = ["desktop", "phone"];

test.each(SCREENS)("the search finds an error code and an endpoint by keyboard on a %s", async (screen) => {
  const [origin, browser] = await Promise.all([serveDocumentation(), startBrowser()]);
  afterFile(() => browser.close());
  const open = await browser.open(`${origin}/docs/signature`, { screen });
  const { page } = open;
  await page.getByRole("button", { name: "Search" }).press("Enter");
  await page.keyboard.type("BAD_SIGNATURE");
  await page.getByRole("link", { name: "Errors: BAD_SIGNATURE" }).waitFor();
  expect(await page.getByRole("dialog").getByRole("status").textContent()).toContain("results for BAD_SIGNATURE");
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(await open.overflow()).toBe(0);
  await page.getByRole("searchbox").fill("Book a captured payment");
  await page.getByRole("link", { name: "Payments: Book a captured payment, exactly once" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/docs\/reference\/.*#confirmPayment$/);
  expect(open.errors).toEqual([]);
  expect(open.requestsElsewhere()).toEqual([]);
});

test("the search says that it could not be loaded, and works after the next letter once it can be", async () => {
  const [origin, browser] = await Promise.all([serveDocumentation(), startBrowser()]);
  afterFile(() => browser.close());
  const { page } = await browser.open(`${origin}/docs/signature`);
  await page.route("**/docs/search-index.js", (route) => route.abort());
  await page.getByRole("button", { name: "Search" }).press("Enter");
  await page.keyboard.type("CASE_NOT_FOUN");
  const status = page.getByRole("dialog").getByRole("status");
  await expect.poll(() => status.textContent()).toMatch(/^The search could not be loaded\./);
  await page.unroute("**/docs/search-index.js");
  await page.keyboard.type("D");
  await expect.poll(() => status.textContent()).toMatch(/^\d+ results? for CASE_NOT_FOUND$/);
});
