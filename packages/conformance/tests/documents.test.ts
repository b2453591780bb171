import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { OPTION_NAMES } from "../src/arguments.ts";
import { HELP } from "../src/help.ts";
import { CHECKS } from "../src/index.ts";

const documentation = await readFile(new URL("../../../docs/lenders/conformance.md", import.meta.url), "utf8");

test("docs/lenders/conformance.md lists every check with its promise, in the order in which they are made", () => {
  const rows = [...documentation.matchAll(/^\| `((?:receiver|mint)\.[a-z0-9-]+)` +\| (.+?) +\|$/gm)];
  expect(rows.map(([, name, title]) => ({ name, title }))).toEqual(CHECKS.map(({ name, title }) => ({ name, title })));
});

test("docs/lenders/conformance.md names options that there are", () => {
  const named = [...documentation.matchAll(/--([a-z][a-z-]+)/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !OPTION_NAMES.includes(name))).toEqual([]);
});

test("--help has every option", () => {
  const shown = [...HELP.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name!);
  expect(shown.toSorted()).toEqual([...OPTION_NAMES].toSorted());
});

test.each(CHECKS)("$name says what it promises and why", ({ name, title, why }) => {
  expect(name).toMatch(/^(receiver|mint)\.[a-z0-9-]+$/);
  expect(title).toMatch(/^[A-Z].{10,90}[^.]$/);
  expect(why).toMatch(/^[A-Z0-9].{20,300}\.$/);
});
