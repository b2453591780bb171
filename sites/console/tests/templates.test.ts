import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { html } from "../src/html.ts";
import { listTable, withWholeDays } from "../src/list-parts.ts";
import { casePage } from "../src/pages/case.ts";
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

test("days in a text are not broken", async () => {
  const text = await withWholeDays("since 2026-11-29 14:46:01, until 2026-12-01");
  expect(text.toString()).toBe(
    `since <span class="day">2026-11-29</span> 14:46:01, until <span class="day">2026-12-01</span>`,
  );
});

test("an optional column without values is left out", async () => {
  const table = await listTable<{ readonly loan: string; readonly line: string | null }>({
    label: "Payments",
    items: [{ loan: "LN-1", line: null }],
    none: "",
    columns: [
      { label: "Loan", cell: ({ loan }) => loan },
      { label: "Line", isOptional: true, cell: ({ line }) => line ?? "–" },
      { label: "Reversed", cell: () => "–" },
    ],
  });
  expect([...table.toString().matchAll(/<th scope="col"[^>]*>([^<]*)</g)].map(([, label]) => label)).toEqual([
    "Loan",
    "Reversed",
  ]);
});

test("the timeline of a case keeps references and names", async () => {
  const { main } = casePage(
    "/console",
    {
      lenderCode: "ACME",
      sourceLoanNumber: "LN-1",
      borrowerName: "Ravi Kumar",
      erasedAt: null,
      holderName: null,
      caseId: "case_1",
      cycle: 1,
      status: "NEW",
      timeZone: "Asia/Kolkata",
      allows: { assign: false, orders: [] },
      facts: [],
      fieldPartner: null,
      timeline: [
        { at: "2026-11-29 14:46:01", what: "message", details: "email: suppressed" },
        { at: "2026-11-29 14:46:01", what: "link", details: "plink_b360: minted" },
        { at: "2026-11-29 14:46:01", what: "payment", details: "utr-1, 100.00 INR by UPI" },
        { at: "2026-11-29 14:46:01", what: "assigned", details: "de Souza" },
      ],
    },
    { operator: { name: "Asha", roles: ["viewer"], lenderCode: null }, done: null, isSandbox: false },
  );
  const text = (await main).toString();
  for (const details of ["Email: suppressed", "plink_b360: minted", "utr-1, 100.00 INR by UPI", "de Souza"]) {
    expect(text).toContain(`>${details} `);
  }
});
