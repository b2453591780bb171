import { chromium } from "playwright-core";
import { findChromium } from "./executable.ts";
import { type OpenOptions, openPage, type OpenPage } from "./open-page.ts";

/** A headless Chromium with a temporary profile. */
export interface Browser {
  /** Opens a page in a fresh profile: without cookies, storage or cache of another page. */
  open(url: string, options?: OpenOptions): Promise<OpenPage>;
  /** Closes this browser only. */
  close(): Promise<void>;
}

/**
 * Only this machine can be reached: no host name resolves, and IP addresses go to a proxy that does not exist. Chromium
 * does not use the proxy for loopback addresses.
 */
const NO_NETWORK = [
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
  "--proxy-server=http://127.0.0.1:9",
  "--disable-background-networking",
  "--no-pings",
];
const START_TIMEOUT_MS = 5 * 60_000;

/**
 * Starts Chromium. Its sandbox is off, because root cannot use it, and the browser only opens our own pages. Throws
 * ChromiumMissingError.
 */
export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium(process.env),
    chromiumSandbox: false,
    args: NO_NETWORK,
    timeout: START_TIMEOUT_MS,
    // Playwright must not react to signals. The test runner handles them, and closes the browsers before it ends.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  return {
    open: (url, options) => openPage(browser, url, options),
    close: () => browser.close(),
  };
}
