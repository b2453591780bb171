import { once } from "node:events";
import { stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  accessibilityFindings,
  type Browser,
  ChromiumMissingError,
  contrastFindings,
  linkFindings,
  SCREENS,
  startBrowser,
} from "./index.ts";
import { findChromium } from "./executable.ts";

const PAGES: Record<string, string> = {
  "/good": `<meta name="viewport" content="width=device-width"><h1>Good</h1><img src="/picture"><script src="/script"></script>`,
  "/wide": `<meta name="viewport" content="width=device-width"><div style="width: 1500px">Wide</div>`,
  "/bad": `<script>console.error("said so"); setTimeout(() => { throw new Error("thrown"); });</script>`,
  "/clean": `<!doctype html><html lang="en"><title>Clean</title><main><h1>Clean</h1><p>Text</p></main></html>`,
  "/faulty": `<!doctype html><html lang="en"><title>Faulty</title><main><h1>Faulty</h1><img src="/picture">
    <p><font color="#bbbbbb">Text</font></p></main></html>`,
  "/linked": `<!doctype html><html lang="en"><title>Linked</title><meta name="color-scheme" content="light dark">
    <style>a { text-decoration: none; color: light-dark(#e00000, #e0e0e0) }</style>
    <main><h1>Linked</h1><p>Much text before the <span><a href="/clean">Link</a></span></p></main></html>`,
  "/elsewhere": `<script type="module">
    const tries = [
      fetch("http://collections.example/by-name"), fetch("http://192.0.2.1/by-address"), fetch("http://localhost:9/port"),
      new Promise((resolve) => { new WebSocket("ws://collections.example/socket").onerror = resolve; }),
      new Promise((resolve) => { const image = new Image(); image.onerror = resolve; image.src = "//collections.example/i.png"; }),
    ];
    const ended = await Promise.allSettled(tries);
    document.title = ended.map(({ status }) => status).join(" ");
  </script>`,
};

const CONTENT_SECURITY_POLICIES: Record<string, string> = {
  "/clean": "default-src 'none'",
  "/faulty": "default-src 'none'",
};

let server: Server;
let origin: string;
let browser: Browser;

beforeAll(async () => {
  server = createServer((request, response) => {
    const page = PAGES[request.url!];
    response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICIES[request.url!] ?? "");
    response.setHeader("Content-Type", page === undefined ? "text/javascript" : "text/html");
    response.end(page);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  server.close();
  server.closeAllConnections();
});

test("the browser loads a page with its picture and its script, and records the requests", async () => {
  const { page, requests, requestsElsewhere, errors } = await browser.open(`${origin}/good`);
  expect(await page.getByRole("heading").textContent()).toBe("Good");
  expect(requests.toSorted()).toEqual([`${origin}/good`, `${origin}/picture`, `${origin}/script`]);
  expect(requestsElsewhere()).toEqual([]);
  expect(errors).toEqual([]);
});

test("the browser reaches only this machine, and records failed requests", async () => {
  const open = await browser.open(`${origin}/elsewhere`);
  await open.page.waitForFunction("document.title !== ''");
  expect(await open.page.title()).toBe("rejected rejected rejected fulfilled fulfilled");
  expect(open.requestsElsewhere().toSorted()).toEqual([
    "http://192.0.2.1/by-address",
    "http://collections.example/by-name",
    "http://collections.example/i.png",
    "http://localhost:9/port",
    "ws://collections.example/socket",
  ]);
});

test("the browser records console errors and uncaught errors", async () => {
  const { errors } = await browser.open(`${origin}/bad`);
  await expect.poll(() => errors).toEqual(["said so", "Error: thrown"]);
});

/** Sets SCREENSHOTS until the end of the test. */
function setScreenshots(value: string | undefined): void {
  vi.stubEnv("SCREENSHOTS", value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

describe.each(["desktop", "phone"] as const)("a page on a %s screen", (screen) => {
  test("has the overflow 0 if it fits, and otherwise the number of pixels that do not fit", async () => {
    const [good, wide] = await Promise.all([
      browser.open(`${origin}/good`, { screen }),
      browser.open(`${origin}/wide`, { screen }),
    ]);
    expect(await good.overflow()).toBe(0);
    expect(await wide.overflow()).toBeGreaterThanOrEqual(1_500 - SCREENS[screen].width);
    expect(await good.page.evaluate("window.innerWidth")).toBe(SCREENS[screen].width);
  });

  test("is saved as a screenshot only if SCREENSHOTS is set", async () => {
    const open = await browser.open(`${origin}/good`, { screen, colorScheme: "dark" });
    setScreenshots(undefined);
    expect(await open.screenshot("test-of-the-browser")).toBeUndefined();
    setScreenshots("1");
    const path = await open.screenshot("test-of-the-browser");
    expect(path).toMatch(new RegExp(`test-of-the-browser-${screen}-dark\\.png$`));
    expect((await stat(path!)).size).toBeGreaterThan(1_000);
    await open.setColorScheme("light");
    expect(await open.screenshot("test-of-the-browser")).toMatch(/test-of-the-browser-(desktop|phone)\.png$/);
    await open.close();
  });

  test("shows another colour scheme without a new request", async () => {
    const open = await browser.open(`${origin}/good`, { screen });
    const isDark = () => open.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
    const requested = open.requests.length;
    expect(await isDark()).toBe(false);
    await open.setColorScheme("dark");
    expect(await isDark()).toBe(true);
    expect(open.requests).toHaveLength(requested);
    await open.close();
  });

  test("keeps a text size of 200 % in a screenshot and afterwards", async () => {
    setScreenshots("1");
    const open = await browser.open(`${origin}/good`, { screen });
    const { page } = open;
    const fontSize = () => page.evaluate("getComputedStyle(document.documentElement).fontSize");
    await page.evaluate(`window.sizes = [];
      new ResizeObserver(() => sizes.push(getComputedStyle(document.documentElement).fontSize))
        .observe(document.querySelector("h1"));`);
    await open.setTextSize(200);
    await expect.poll(() => page.evaluate("sizes.at(-1)")).toBe("32px");
    await page.evaluate("void (sizes.length = 0)");
    await open.screenshot("test-of-the-browser-200");
    expect(await page.evaluate("sizes.filter((size) => size !== '32px')")).toEqual([]);
    expect(await fontSize()).toBe("32px");
    await open.setTextSize(100);
    expect(await fontSize()).toBe("16px");
    await open.close();
  });
});

test("axe finds the faults of a page under a strict content security policy, and nothing on a page without faults", async () => {
  const [clean, faulty] = await Promise.all([browser.open(`${origin}/clean`), browser.open(`${origin}/faulty`)]);
  expect(await accessibilityFindings(clean.page)).toEqual([]);
  const findings = await accessibilityFindings(faulty.page);
  expect(findings.find((finding) => finding.startsWith("image-alt: img"))).toBeDefined();
  expect(findings.find((finding) => finding.startsWith("color-contrast: font"))).toBeDefined();
});

test("`contrastFindings` checks again only the colours that have not passed", async () => {
  const { page } = await browser.open(`${origin}/clean`);
  const passed = new Set<string>();
  expect(await contrastFindings(page, passed)).toEqual([]);
  // The heading and the text have the same colours, but only the heading is large.
  expect(passed.size).toBe(2);
  const text = "document.querySelector('p').style";
  for (const change of ["color = '#888'", "backgroundColor = '#666'", "opacity = '0.5'"]) {
    await page.evaluate(`${text}.cssText = ''; ${text}.${change}`);
    const findings = [expect.stringMatching(/^color-contrast: p: /)];
    expect(await contrastFindings(page, passed), change).toEqual(findings);
    expect(await accessibilityFindings(page, passed), change).toEqual(findings);
  }
  await page.evaluate(`${text}.cssText = 'color: #888; font-size: 24px'`);
  expect(await contrastFindings(page, passed)).toEqual([]);
  expect(passed.size).toBe(3);
  await page.evaluate(`${text}.cssText = 'color: #888'; document.querySelector("main").style.fontSize = "24px"`);
  expect(await contrastFindings(page, passed)).toEqual([]);
  expect(passed.size).toBe(3);
});

test("`linkFindings` finds a link that only its colour distinguishes, in each colour scheme", async () => {
  const open = await browser.open(`${origin}/linked`);
  expect(await linkFindings(open.page)).toEqual([]);
  await open.setColorScheme("dark");
  expect(await linkFindings(open.page)).toEqual([expect.stringMatching(/^link-in-text-block: a: /)]);
  await open.page.evaluate("document.querySelector('p').firstChild.remove()");
  expect(await linkFindings(open.page)).toEqual([]);
});

test("`accessibilityFindings` with passed colours still runs the other rules", async () => {
  const { page } = await browser.open(`${origin}/faulty`);
  const findings = await accessibilityFindings(page, new Set());
  expect(findings.find((finding) => finding.startsWith("image-alt: img"))).toBeDefined();
  expect(findings.find((finding) => finding.startsWith("color-contrast: font"))).toBeDefined();
});

test("pages share no cookies and no storage", async () => {
  const first = await browser.open(`${origin}/good`);
  await first.page.evaluate("localStorage.setItem('secret', 'kept')");
  const second = await browser.open(`${origin}/good`);
  expect(await second.page.evaluate("localStorage.getItem('secret')")).toBeNull();
});

describe("findChromium", () => {
  test("returns the path in CHROMIUM", () => {
    expect(findChromium({ CHROMIUM: process.execPath, PATH: "" })).toBe(process.execPath);
  });

  test("throws an error that explains how to install Chromium if it is missing", () => {
    expect(() => findChromium({ PATH: "/nowhere" })).toThrow(ChromiumMissingError);
    expect(() => findChromium({ PATH: "/nowhere" })).toThrow("apt-get install chromium-headless-shell");
    expect(() => findChromium({ CHROMIUM: "/nowhere/chromium", PATH: process.env["PATH"] })).toThrow(
      "/nowhere/chromium",
    );
  });
});
