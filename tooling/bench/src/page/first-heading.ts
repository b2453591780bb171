import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Browser, type OpenPage, startBrowser } from "@collections/browser";
import { fillBooks } from "../books/books.ts";
import { atMost, type Line, ratioLine } from "../figures/line.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { milliseconds, ratioText, table, whole } from "../figures/text-table.ts";
import type { HeadingPlan } from "../plan.ts";
import type { BenchServer } from "../server/bench-server.ts";
import { startService } from "../server/service.ts";

/** The time from the start of the navigation to the first heading on the screen, over slow 3G. */
export interface HeadingReport {
  /** In a profile that has never opened the page. */
  readonly coldMs: Spread;
  readonly bareColdMs: Spread;
  readonly coldRatio: Spread;
  /** At the second time in the same profile, after the service worker has stored the app. */
  readonly warmMs: Spread;
  readonly bareWarmMs: Spread;
  readonly warmRatio: Spread;
}

/** Slow 3G as WebPageTest defines it: 400 ms for each round trip, 400 kbit/s in both directions. */
const SLOW_3G = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const MAX_COLD_MS = 2_000;

/**
 * Measures how long the field partners' app takes to show its first heading, cold and warm. A page whose style sheet and
 * script are nearly empty is measured in turn, because no page that needs a script can be faster.
 */
export async function measureFirstHeading({
  plan,
  server,
  onProgress,
}: {
  readonly plan: HeadingPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}): Promise<HeadingReport> {
  onProgress("starting the service and a browser");
  const databaseUrl = await server.createDatabase("heading");
  await fillBooks(databaseUrl, [{ loans: { lenderCodes: ["PAGE"], perLender: 1 }, options: [] }]);
  const [service, bare, browser] = await Promise.all([
    startService({ databaseUrl, role: "server" }),
    startBarePage(),
    startBrowser(),
  ]);
  try {
    const round = async () => ({
      app: await opened(browser, `${service.url}/app`, { hasWorker: true }),
      bare: await opened(browser, bare.url, { hasWorker: false }),
    });
    // The first request bundles the app, and the first page starts parts of the browser.
    await round();
    const rounds: Awaited<ReturnType<typeof round>>[] = [];
    while (rounds.length < plan.rounds) {
      onProgress(`opening the app, round ${rounds.length + 1} of ${plan.rounds}`);
      rounds.push(await round());
    }
    const all = (figure: (one: (typeof rounds)[number]) => number) => spreadOf(rounds.map(figure));
    return {
      coldMs: all(({ app }) => app.coldMs),
      bareColdMs: all((one) => one.bare.coldMs),
      coldRatio: all((one) => one.app.coldMs / one.bare.coldMs),
      warmMs: all(({ app }) => app.warmMs),
      bareWarmMs: all((one) => one.bare.warmMs),
      warmRatio: all((one) => one.app.warmMs / one.bare.warmMs),
    };
  } finally {
    await Promise.all([service.stop(), bare.stop(), browser.close()]);
  }
}

/** Opens a page twice in a new profile, over slow 3G. */
async function opened(browser: Browser, url: string, { hasWorker }: { readonly hasWorker: boolean }) {
  const open = await browser.open("about:blank", { screen: "phone" });
  const devtools = await open.page.context().newCDPSession(open.page);
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", SLOW_3G);
  await open.page.addInitScript(NOTE_HEADING);
  const coldMs = await headingMs(open, url);
  if (hasWorker) await open.page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");
  await open.page.waitForLoadState("networkidle");
  const warmMs = await headingMs(open, url);
  await open.close();
  return { coldMs, warmMs };
}

/** Notes the time of the first heading. The page's own Content-Security-Policy does not apply to this script. */
const NOTE_HEADING = `new MutationObserver(() => {
  globalThis.headingMs ??= document.querySelector("h1")?.checkVisibility() ? performance.now() : undefined;
}).observe(document, { childList: true, subtree: true });`;
const LOOK_EVERY_MS = 20;

/** Returns the time from the start of the navigation to the first visible heading. */
async function headingMs({ page }: OpenPage, url: string): Promise<number> {
  await page.goto(url, { waitUntil: "commit" });
  for (;;) {
    const shownAtMs = await page.evaluate<number | undefined>("globalThis.headingMs");
    if (shownAtMs !== undefined) return shownAtMs;
    await delay(LOOK_EVERY_MS);
  }
}

const BARE_PAGE = `<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>Bare</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/bare.css"><script type="module" src="/bare.js"></script></head><body></body></html>`;
const BARE_FILES: Readonly<Record<string, readonly [type: string, text: string]>> = {
  "/": ["text/html", BARE_PAGE],
  "/bare.css": ["text/css", "h1 { font: 1rem sans-serif }"],
  "/bare.js": [
    "text/javascript",
    `document.body.append(Object.assign(document.createElement("h1"), { textContent: "Bare" }))`,
  ],
};

/** Serves a page that needs one style sheet and one script for its heading, like the app. */
async function startBarePage(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const [type, text] = BARE_FILES[request.url ?? ""] ?? ["text/plain", ""];
    response.writeHead(text === "" ? 404 : 200, { "Content-Type": type, "Cache-Control": "no-cache" }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The report as a table. */
export function headingText({ rounds }: HeadingPlan, report: HeadingReport): string {
  const row = (name: string, app: Spread, bare: Spread, ratio: Spread) => [
    name,
    milliseconds(app),
    milliseconds(bare),
    ratioText(ratio),
  ];
  return [
    `The first heading of the field partners' app over slow 3G, compared with a page of one small script; ${rounds} rounds in turn`,
    table(
      "figure,app,bare page,ratio",
      [
        row("cold, ms", report.coldMs, report.bareColdMs, report.coldRatio),
        row("warm, ms", report.warmMs, report.bareWarmMs, report.warmRatio),
      ],
      "left",
    ),
  ].join("\n");
}

/** Returns the report's lines for the table of all subjects. */
export function headingLines({ rounds }: HeadingPlan, report: HeadingReport): Line[] {
  const { coldMs, bareColdMs, coldRatio, warmMs, bareWarmMs, warmRatio } = report;
  const line = (figure: string, app: Spread, bare: Spread, ratio: Spread): Line =>
    ratioLine({
      figure,
      ours: `${whole(app.median)} ms`,
      beside: `page of one small script: ${whole(bare.median)} ms`,
      ratio,
      rounds,
    });
  return [
    { ...line("first heading, slow 3G, cold", coldMs, bareColdMs, coldRatio), aim: atMost(MAX_COLD_MS, coldMs, " ms") },
    line("first heading, slow 3G, warm", warmMs, bareWarmMs, warmRatio),
  ];
}
