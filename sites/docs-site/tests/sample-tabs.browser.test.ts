import { type Browser, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { serveDocumentation } from "./fixtures/serve-documentation.ts";

let origin: string;
let browser: Browser;

beforeAll(async () => {
  [origin, browser] = await Promise.all([serveDocumentation(), startBrowser()]);
  afterFile(() => browser.close());
});

describe("samples in several languages", () => {
  test("are tabs that arrow keys change, and the choice is kept on other pages", async () => {
    const { page } = await browser.open(`${origin}/docs/signing`);
    expect(await page.getByRole("tab").allTextContents()).toEqual([
      "curl and openssl",
      "Node",
      "Python",
      "PHP",
      "Java",
      "Go",
      "C#",
      "Ruby",
    ]);
    const chosen = page.getByRole("tab", { selected: true });
    expect(await chosen.textContent()).toBe("curl and openssl");
    await chosen.press("ArrowRight");
    await chosen.press("ArrowRight");
    expect(await chosen.textContent()).toBe("Python");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Python");
    expect(await page.getByRole("tabpanel").textContent()).toContain("import hashlib");
    await page.goto(`${origin}/docs/reference/health`, { waitUntil: "networkidle" });
    expect(await chosen.allTextContents()).toEqual(["Python"]);
    expect(await page.getByRole("tabpanel").textContent()).toContain("import urllib.request");
  });

  test("are shown by the link to a language", async () => {
    const { page } = await browser.open(`${origin}/docs/signing`);
    await page.locator("main").getByRole("link", { name: "Go", exact: true }).click();
    await expect.poll(() => page.getByRole("tab", { selected: true }).textContent()).toBe("Go");
  });

  test("are below each other without scripts", async () => {
    const html = await (await fetch(`${origin}/docs/signing`)).text();
    expect(html.match(/<div class="sample"/g)).toHaveLength(8);
    expect(html).not.toMatch(/role="tab(?:list|panel)?"|<div class="sample"[^>]* hidden/);
  });
});

test("a block of code that is too wide scrolls by keyboard, and one that fits is skipped by the tab key", async () => {
  const { page } = await browser.open(`${origin}/docs/signing`, { screen: "phone" });
  const wide = page.locator("main pre").first();
  await wide.focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => wide.evaluate((block) => block.scrollLeft)).toBeGreaterThan(0);
  const reachable = await page
    .locator("main pre")
    .evaluateAll((blocks) =>
      blocks.map((block) => [block.scrollWidth > block.clientWidth, block.hasAttribute("tabindex")]),
    );
  expect(reachable.filter(([scrolls, hasFocus]) => scrolls !== hasFocus)).toEqual([]);
});

test("each page links to the previous and the next page of the navigation", async () => {
  const html = await (await fetch(`${origin}/docs/signing`)).text();
  expect(html).toContain('<a rel="prev" href="/docs"><span>Previous</span> Guide</a>');
  expect(html).toContain('<a rel="next" href="/docs/receiver"><span>Next</span> Receive events</a>');
});
