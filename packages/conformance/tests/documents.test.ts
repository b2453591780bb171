import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { OPTION_NAMES } from "../src/command/arguments.ts";
import { caseAt } from "../src/stand-in/event.ts";
import { HELP } from "../src/command/help.ts";
import { CHECKS } from "../src/index.ts";
import { StandIn } from "../src/stand-in/stand-in.ts";
import { settingsFor } from "./run-on.ts";
import { lenderWith, serve } from "./test-lender.ts";

const documentation = await readFile(new URL("../../../docs/lenders/conformance.md", import.meta.url), "utf8");
const contract = await readFile(new URL("../../../docs/interface.md", import.meta.url), "utf8");

test("docs/lenders/conformance.md lists every check in order, with its promise", () => {
  const rows = [...documentation.matchAll(/^\| `((?:receiver|mint|reconcile)\.[a-z0-9-]+)` +\| (.+?) +\|$/gm)];
  expect(rows.map(([, name, title]) => ({ name, title }))).toEqual(CHECKS.map(({ name, title }) => ({ name, title })));
});

test("docs/lenders/conformance.md names only options that exist", () => {
  const ofTheKit = documentation.replaceAll(/^(?:npm|sha256sum) .*$/gm, "");
  const named = [...ofTheKit.matchAll(/--([a-z][a-z-]+)/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !OPTION_NAMES.includes(name))).toEqual([]);
});

test("--help lists every option", () => {
  const shown = [...HELP.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name!);
  expect(shown.toSorted()).toEqual([...OPTION_NAMES].toSorted());
});

test.each(CHECKS)("$name has a title and a reason in whole sentences", ({ name, title, why }) => {
  expect(name).toMatch(/^(receiver|mint|reconcile)\.[a-z0-9-]+$/);
  expect(title).toMatch(/^[A-Z].{10,90}[^.]$/);
  expect(why).toMatch(/^[A-Z0-9].{20,300}\.$/);
});

describe("requests of the kit have the form that docs/interface.md shows", () => {
  const service = new StandIn(settingsFor("http://127.0.0.1"), null);

  test("an event has the fields of the example in docs/interface.md", () => {
    const { body } = service.event("LN-2040", 14);
    expect(formOf(JSON.parse(body))).toEqual(formOf(exampleIn("Envelope body fields")));
  });

  test("a link request has the fields of the example in docs/interface.md", () => {
    expect(formOf(JSON.parse(service.linkRequest().body))).toEqual(formOf(exampleIn("Mint-link request")));
  });

  test("a case has the fields of the example in docs/interface.md", () => {
    const [shown, sent] = [exampleIn("GET cases/{loan}"), caseAt("LN-2040", 14)].map(formOf);
    expect(Object.keys(sent as object).toSorted()).toEqual(Object.keys(shown as object).toSorted());
  });

  test("a delivery and a mint call have the headers that docs/interface.md lists", async () => {
    const seen: string[][] = [];
    const lender = lenderWith({
      intercept({ headers }) {
        seen.push(Object.keys(headers).filter((name) => !/^(host|connection|content-length)$/.test(name)));
        return false;
      },
    });
    const { url, close } = await serve(lender);
    const caller = new StandIn({ ...settingsFor(url), mintAuthHeader: undefined }, null);
    await caller.deliver("an event", caller.event("LN-1"), { replay: true });
    await caller.mint("a link request", caller.linkRequest());
    await close();
    expect(seen.map((names) => names.toSorted())).toEqual([headersIn("Delivery"), mintHeaders()]);
  });
});

/** Returns the first JSON example in a section of the contract. */
function exampleIn(heading: string): unknown {
  const [, json = "null"] = /^```json\n([\s\S]*?)^```$/m.exec(sectionOf(heading))!;
  return JSON.parse(json);
}

function headersIn(heading: string): string[] {
  const cells = [...sectionOf(heading).matchAll(/^\| (`.+?`) +\|/gm)].map(([, cell]) => cell!);
  return cells
    .flatMap((cell) => [...cell.matchAll(/`([A-Za-z-]+)`/g)].map(([, name]) => name!.toLowerCase()))
    .toSorted();
}

/**
 * Returns the headers in the contract's table. The table shortens the names of the service's headers and omits the
 * headers of a JSON body.
 */
function mintHeaders(): string[] {
  const short = headersIn("Mint-link request").map((name) => name.replace(/^-/, "x-service-"));
  return [...short, "content-type"].toSorted();
}

function sectionOf(heading: string): string {
  return contract.split(`\n### ${heading}\n`)[1]!.split(/^### /m)[0]!;
}

const ANYTHING = expect.anything() as unknown;

/** Returns a value with each leaf replaced by its type, or by "anything" if the leaf may be null. */
function formOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value === null ? ANYTHING : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, formOf(part)]));
}
