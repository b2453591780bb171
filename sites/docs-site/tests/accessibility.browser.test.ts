import {
  accessibilityFindings,
  type Browser,
  contrastFindings,
  type OpenPage,
  startBrowser,
} from "@collections/browser";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { type Page, PAGES } from "../src/contents.ts";
import { serveDocumentation } from "./fixtures/serve-documentation.ts";

/** The looks that differ from the light one in their colours only. */
const OTHER_COLOURS = [
  { colorScheme: "dark", forcedColors: "none" },
  { colorScheme: "dark", forcedColors: "active" },
] as const;

/** The colours in which axe has found enough contrast, on any page. On desktops, axe also checks each light page whole. */
const passedColours = new Set<string>();

let origin: string;
let browser: Browser;

beforeAll(async () => {
  [origin, browser] = await Promise.all([serveDocumentation(), startBrowser()]);
  afterFile(() => browser.close());
});

/** The pages of the packages are the last chapter. On a phone one of them stands for all, because they are alike. */
const isOfPackage = ({ path }: Page) => path.startsWith("/docs/packages/");
const ON_PHONES = [...PAGES.filter((page) => !isOfPackage(page)), ...PAGES.filter(isOfPackage).slice(0, 1)];

describe.each([
  ["desktop", PAGES],
  ["phone", ON_PHONES],
] as const)("on a %s", (screen, pages) => {
  let open: OpenPage;

  beforeAll(async () => {
    open = await browser.open("about:blank", { screen });
  });

  test.each(pages)("axe finds nothing on $path", async ({ path }) => {
    const { page } = open;
    await page.emulateMedia({ colorScheme: "light", forcedColors: "none" });
    await page.goto(origin + path);
    // Axe skips what is folded.
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
    expect(await accessibilityFindings(page, screen === "desktop" ? undefined : passedColours)).toEqual([]);
    expect(await open.overflow()).toBe(0);
    // The other looks differ in their colours only, and the colours are the same on every screen.
    for (const look of screen === "desktop" ? OTHER_COLOURS : []) {
      await page.emulateMedia(look);
      const findings = await contrastFindings(page, passedColours);
      expect(findings, JSON.stringify(look)).toEqual([]);
    }
    expect(open.errors).toEqual([]);
    expect(open.requests.filter((url) => !url.startsWith(`${origin}/`))).toEqual([]);
  });
});
