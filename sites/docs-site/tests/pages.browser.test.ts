import { type Browser, type Screen, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { CHAPTERS } from "../src/contents.ts";
import { serveDocumentation } from "./fixtures/serve-documentation.ts";

const DESKTOP_AND_PHONE: readonly Screen[] = ["desktop", "phone"];

let origin: string;
let browser: Browser;

beforeAll(async () => {
  [origin, browser] = await Promise.all([serveDocumentation(), startBrowser()]);
  afterFile(() => browser.close());
});

describe("the documentation in Chromium", () => {
  describe.each([
    ["guide", "/docs"],
    ["errors", "/docs/errors"],
  ])("the page of the %s", (name, path) => {
    test.concurrent.each(DESKTOP_AND_PHONE)(
      "fits on a %s, has no errors, and loads nothing from other hosts",
      async (screen) => {
        const open = await browser.open(origin + path, { screen });
        expect(await open.page.getByRole("heading", { level: 1 }).isVisible()).toBe(true);
        expect(await open.page.locator("main table").first().isVisible()).toBe(true);
        expect(await open.page.locator("pre:visible span").first().isVisible()).toBe(true);
        expect(await open.overflow()).toBe(0);
        expect(open.errors).toEqual([]);
        expect(open.requestsElsewhere()).toEqual([]);
        await open.screenshot(name);
        await open.close();
      },
    );
  });

  test("every guide fits on a phone", async () => {
    const open = await browser.open(`${origin}/docs`, { screen: "phone" });
    const guides = CHAPTERS.flatMap(({ pages }) => pages).filter(({ file }) => file !== undefined);
    const overflows: [path: string, overflow: number][] = [];
    for (const { path } of guides) {
      await open.page.goto(origin + path);
      overflows.push([path, await open.overflow()]);
    }
    expect(overflows).toEqual(guides.map(({ path }) => [path, 0]));
    expect(open.errors).toEqual([]);
    expect(open.requestsElsewhere()).toEqual([]);
  });

  test("the navigation is beside the text, and marks the current page", async () => {
    const { page } = await browser.open(`${origin}/docs/errors`);
    const navigation = page.getByRole("navigation", { name: "Documentation" });
    expect(await navigation.getByRole("link", { name: "Errors" }).getAttribute("aria-current")).toBe("page");
    expect(await page.getByRole("button", { name: "Menu" }).isVisible()).toBe(false);
    await navigation.getByRole("link", { name: "Sign and verify" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign and verify" }).waitFor();
  });

  test("on a phone the navigation opens by touch and by keyboard", async () => {
    const open = await browser.open(`${origin}/docs/errors`, { screen: "phone", colorScheme: "dark" });
    const navigation = open.page.getByRole("navigation", { name: "Documentation" });
    expect(await navigation.isVisible()).toBe(false);
    await open.page.getByRole("button", { name: "Menu" }).tap();
    expect(await navigation.isVisible()).toBe(true);
    expect(await open.overflow()).toBe(0);
    await open.screenshot("navigation");
    await open.page.keyboard.press("Escape");
    expect(await navigation.isVisible()).toBe(false);
    await open.page.getByRole("button", { name: "Menu" }).press("Enter");
    await navigation.getByRole("link", { name: "Guide" }).tap();
    await open.page.getByRole("heading", { level: 1, name: "Integrate in an afternoon" }).waitFor();
  });

  test("the link to an error code leads to its row, which the top bar does not cover", async () => {
    const { page } = await browser.open(`${origin}/errors/BAD_SIGNATURE`);
    const { top } = await page.locator("tr:target").evaluate((row) => row.getBoundingClientRect());
    const bar = await page.locator("header").evaluate((header) => header.getBoundingClientRect());
    expect(await page.locator("tr:target").textContent()).toContain("The signature does not match");
    expect(top).toBeGreaterThanOrEqual(bar.bottom);
  });

  test("a block of code can be copied exactly", async () => {
    const { page, errors } = await browser.open(`${origin}/docs`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const block = page.locator(".code").first();
    await block.hover();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await block.locator("pre").textContent());
    expect(errors).toEqual([]);
  });

  test("pages are dark if the reader's system is dark", async () => {
    const pages = await Promise.all([
      browser.open(`${origin}/docs`, { colorScheme: "light" }),
      browser.open(`${origin}/docs`, { colorScheme: "dark" }),
    ]);
    await pages[1].screenshot("guide");
    const lightness = pages.map(({ page }) =>
      page.locator("body").evaluate((body) => Number(/\d+/.exec(getComputedStyle(body).backgroundColor)?.[0])),
    );
    const [light, dark] = await Promise.all(lightness);
    expect(light).toBeGreaterThan(240);
    expect(dark).toBeLessThan(40);
  });
});
