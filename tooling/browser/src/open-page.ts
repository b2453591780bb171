import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser as Chromium, BrowserContext, Page } from "playwright-core";

/** The widths at which pages are looked at, in CSS pixels. */
export const SCREENS = {
  desktop: { width: 1_280, height: 800 },
  phone: { width: 390, height: 844 },
} as const;

export type Screen = keyof typeof SCREENS;

export interface OpenOptions {
  /** `desktop` when left out. A phone has a touch screen, too. */
  readonly screen?: Screen;
  /** `light` when left out. */
  readonly colorScheme?: "light" | "dark";
}

/** A page as a reader has it, with a record of what it did. */
export interface OpenPage {
  /** The page of the Playwright library: find, click, fill, read. */
  readonly page: Page;
  /** Every URL that the page has asked for so far, refused ones included; not `data:` and `blob:`, which ask nobody. */
  readonly requests: readonly string[];
  /** Those of them that lead away from the origin that was opened. */
  requestsElsewhere(): string[];
  /** Error messages of the console and errors that nobody caught, in the order that they came. */
  readonly errors: readonly string[];
  /** By how many pixels the page is wider than the screen: 0 means that nobody has to scroll sideways. */
  overflow(): Promise<number>;
  /** Writes the page, or the first three screens of it, to `.data/screenshots/NAME-SCREEN[-dark].png`: that path. */
  screenshot(name: string): Promise<string>;
  close(): Promise<void>;
}

const SCREENSHOTS = fileURLToPath(new URL("../../../.data/screenshots", import.meta.url));
/** Shorter than a test may take: what was waited for is then in the message. */
const TIMEOUT_MS = 15_000;
const ASKS_NOBODY = /^(data|blob|about):/;

/** Opens a URL and waits until all that it loads is there. */
export async function openPage(browser: Chromium, url: string, options: OpenOptions = {}): Promise<OpenPage> {
  const { screen = "desktop", colorScheme = "light" } = options;
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
  return {
    page,
    requests,
    requestsElsewhere: () => requests.filter((asked) => httpOrigin(asked) !== origin),
    errors,
    async overflow() {
      // A phone's window grows with the page that it shows, so the screen is the measure.
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      return Math.max(0, width - SCREENS[screen].width);
    },
    async screenshot(name) {
      await mkdir(SCREENSHOTS, { recursive: true });
      // What sticks to the top of the screen would else stand in the middle of the picture.
      await page.evaluate("scrollTo(0, 0)");
      const path = join(SCREENSHOTS, `${name}-${screen}${colorScheme === "dark" ? "-dark" : ""}.png`);
      const { width, height } = SCREENS[screen];
      const whole = await page.evaluate<number>("document.documentElement.scrollHeight");
      await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(whole, 3 * height) } });
      return path;
    },
    close: () => context.close(),
  };
}

/** Listens before the first page exists, and to every page, frame and worker of the profile. */
function record(context: BrowserContext, requests: string[], errors: string[]): void {
  context.on("request", (request) => {
    if (!ASKS_NOBODY.test(request.url())) requests.push(request.url());
  });
  context.on("page", (page) => {
    page.on("websocket", (socket) => requests.push(socket.url()));
  });
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(String(error.error())));
}

/** A web socket has the origin of its http URL. */
function httpOrigin(url: string): string {
  return new URL(url.replace(/^ws/, "http")).origin;
}
