import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser as Chromium, BrowserContext, CDPSession, Page } from "playwright-core";

/** The screen sizes for tests, in CSS pixels. */
export const SCREENS = {
  desktop: { width: 1_280, height: 800 },
  phone: { width: 390, height: 844 },
} as const;

export type Screen = keyof typeof SCREENS;

export interface OpenOptions {
  /** The screen of the page; default `desktop`. A phone also has a touch screen. */
  readonly screen?: Screen;
  /** The colour scheme of the page; default `light`. */
  readonly colorScheme?: "light" | "dark";
}

/** An open page, with a record of its requests and errors. */
export interface OpenPage {
  /** Playwright's page: find, click, fill, read. */
  readonly page: Page;
  /** Every URL that the page has requested so far, including failed requests; without `data:` and `blob:`. */
  readonly requests: readonly string[];
  /** The requests to origins other than the origin of the opened URL. */
  requestsElsewhere(): string[];
  /** Console errors and uncaught errors, in order. */
  readonly errors: readonly string[];
  /** The number of pixels by which the page is wider than the screen; 0 means that it needs no horizontal scrolling. */
  overflow(): Promise<number>;
  /** Sets the size of the text as a user does in the settings of the browser. It lasts until the page is closed. */
  setTextSize(percent: 100 | 200): Promise<void>;
  /** Shows the loaded page in another colour scheme. */
  setColorScheme(colorScheme: "light" | "dark"): Promise<void>;
  /**
   * If `savesPictures()`, writes the first three screens of the page to `.data/screenshots/NAME-SCREEN[-dark].png` and
   * returns that path.
   */
  screenshot(name: string): Promise<string | undefined>;
  close(): Promise<void>;
}

const SCREENSHOTS = fileURLToPath(new URL("../../../.data/screenshots", import.meta.url));
/**
 * The time limit of an action on the page. It is shorter than a test's time limit, so that the test fails with
 * Playwright's message, which says what Playwright waited for.
 */
const TIMEOUT_MS = 5 * 60_000;
/** The font size of a browser whose user has not changed it, in pixels. */
const FONT_SIZE = 16;
const SENDS_NO_REQUEST = /^(data|blob|about):/;

/**
 * Whether tests save pictures for a review: the environment variable `SCREENSHOTS` is set. No test compares pictures, and
 * a picture takes as much processor time as loading the page.
 */
export function savesPictures(): boolean {
  return process.env["SCREENSHOTS"] !== undefined;
}

/** Opens a URL and waits until everything has loaded. */
export async function openPage(browser: Chromium, url: string, options: OpenOptions = {}): Promise<OpenPage> {
  const { screen = "desktop" } = options;
  let { colorScheme = "light" } = options;
  const context = await browser.newContext({
    viewport: SCREENS[screen],
    hasTouch: screen === "phone",
    isMobile: screen === "phone",
    colorScheme,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  const requests: string[] = [];
  const errors: string[] = [];
  record(context, requests, errors);
  const page = await context.newPage();
  await page.goto(url, { waitUntil: "networkidle" });
  const { origin } = new URL(url);
  let devtools: CDPSession | undefined;
  let textPercent = 100;
  return {
    page,
    requests,
    requestsElsewhere: () => requests.filter((asked) => httpOrigin(asked) !== origin),
    errors,
    async overflow() {
      // On a phone the window becomes as wide as the page. So compare the page's width with the screen's width.
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      return Math.max(0, width - SCREENS[screen].width);
    },
    async setTextSize(percent) {
      textPercent = percent;
      const size = (FONT_SIZE * percent) / 100;
      // With such a session, tests that switch the network off and on fail. So only tests of large text open it.
      devtools ??= await context.newCDPSession(page);
      await devtools.send("Page.setFontSizes", { fontSizes: { standard: size, fixed: size } });
    },
    async setColorScheme(scheme) {
      colorScheme = scheme;
      await page.emulateMedia({ colorScheme });
    },
    async screenshot(name) {
      if (!savesPictures()) return undefined;
      await mkdir(SCREENSHOTS, { recursive: true });
      // Scroll to the top, because a sticky header would otherwise be in the middle of the picture.
      await page.evaluate("scrollTo(0, 0)");
      const path = join(SCREENSHOTS, `${name}-${screen}${colorScheme === "dark" ? "-dark" : ""}.png`);
      const { width, height } = SCREENS[screen];
      const whole = await page.evaluate<number>("document.documentElement.scrollHeight");
      const pictured = { width, height: Math.min(Math.max(whole, height), 3 * height) };
      if (textPercent === 100) {
        await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, ...pictured } });
        return path;
      }
      // Playwright's pictures of whole pages reset the size of the text.
      await page.setViewportSize(pictured);
      await page.screenshot({ path });
      await page.setViewportSize({ width, height });
      return path;
    },
    close: () => context.close(),
  };
}

/** Starts recording before the first page exists, for every page, frame and worker of the profile. */
function record(context: BrowserContext, requests: string[], errors: string[]): void {
  context.on("request", (request) => {
    if (!SENDS_NO_REQUEST.test(request.url())) requests.push(request.url());
  });
  context.on("page", (page) => {
    page.on("websocket", (socket) => requests.push(socket.url()));
  });
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(String(error.error())));
}

/** The http origin of a web socket's URL. */
function httpOrigin(url: string): string {
  return new URL(url.replace(/^ws/, "http")).origin;
}
