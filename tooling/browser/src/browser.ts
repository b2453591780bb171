import { chromium } from "playwright-core";
import { findChromium } from "./executable.ts";
import { type OpenOptions, openPage, type OpenPage } from "./open-page.ts";

/** Chromium without a window, with a profile of its own that is gone when it closes. */
export interface Browser {
  /** Opens a page in a fresh profile of its own: no cookies, no storage, no cache of another page. */
  open(url: string, options?: OpenOptions): Promise<OpenPage>;
  /** Ends this browser, and no other. */
  close(): Promise<void>;
}

/**
 * Nothing but this machine can be reached: no name resolves, and what needs none is sent to a proxy that is not there.
 * Chromium asks no proxy for loopback addresses.
 */
const NO_NETWORK = [
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
  "--proxy-server=http://127.0.0.1:9",
  "--disable-background-networking",
  "--no-pings",
];
const START_TIMEOUT_MS = 60_000;

/** Starts Chromium. Its own sandbox stays off: root has none, and it is shown our pages only. Throws ChromiumMissingError. */
export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium(process.env),
    chromiumSandbox: false,
    args: NO_NETWORK,
    timeout: START_TIMEOUT_MS,
    // The test runner decides when to end, and closes browsers first.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  return {
    open: (url, options) => openPage(browser, url, options),
    close: () => browser.close(),
  };
}
