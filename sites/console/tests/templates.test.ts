import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { html } from "../src/html.ts";
import { amountsText, capitalized, dayText, utcText, words } from "../src/words.ts";

const SOURCES = fileURLToPath(new URL("../src/", import.meta.url));
const FILES = globSync("**/*.ts", { cwd: SOURCES });

test.each(FILES)("%s has no value outside of quotes or in a script", (file) => {
  const text = readFileSync(SOURCES + file, "utf8");
  expect(text).not.toMatch(/\w=\$\{/);
  expect(text).not.toMatch(/<script|<style|\son\w+="|\sstyle=/i);
  expect(text).not.toMatch(/(?<!String\.)\braw\b/);
});

test.each(FILES)("%s builds URLs only from the path of the console", (file) => {
  const text = readFileSync(SOURCES + file, "utf8");
  const urls = [...text.matchAll(/\s(?:href|action|src)="([^"]*)"/g)].map(([, url]) => url!);
  expect(urls.filter((url) => !/^(?:\$\{home\}|#main$|\$\{ICON\}$)/.test(url))).toEqual([]);
});

test("a value is escaped in text and in a quoted attribute", async () => {
  const value = `<b title="x">'&`;
  const escaped = await html`<p title="${value}">${value}</p>`;
  expect(escaped.toString()).toBe(
    `<p title="&lt;b title=&quot;x&quot;&gt;&#39;&amp;">&lt;b title=&quot;x&quot;&gt;&#39;&amp;</p>`,
  );
});

test("amounts, days and names of states are shown as people write them", () => {
  const amounts = [
    { amount: "1234567.50", currency: "INR" },
    { amount: "1234567", currency: "JPY" },
  ];
  expect(amountsText(amounts)).toBe("12,34,567.50 INR + 1,234,567 JPY");
  expect(dayText("2026-11-29")).toBe("Sun 29 Nov");
  expect(words("NOT_AT_HOME")).toBe("Not at home");
  expect(words("upi")).toBe("UPI");
  expect(capitalized("booked as RV-1")).toBe("Booked as RV-1");
  expect(utcText("2026-11-29T14:46:01.123Z")).toBe("2026-11-29 14:46:01 UTC");
});
