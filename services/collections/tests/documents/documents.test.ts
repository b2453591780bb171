import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEFAULT_LADDER } from "@collections/webhooks";
import { buildSchema, parse, validate } from "graphql";
import { describe, expect, test } from "vitest";
import { COLUMN_NAMES } from "../../src/case-file/case-columns.ts";
import { PAYMENT_COLUMN_NAMES } from "../../src/payment-file/payment-columns.ts";
import { Problem, problemBody, PROBLEM_CODES } from "../../src/http/problem.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

const names = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  ...(await filesLike("docs/**/*.md")),
  ...(await filesLike("{examples,examples/*}/*.md")),
  ...(await filesLike("{packages,sites,tooling}/*/README.md")),
];
const documents = new Map(await Promise.all(names.map(async (name) => [name, await textOf(name)] as const)));
const contract = documents.get("docs/interface.md")!;

describe.each(names)("document %s", (name) => {
  const text = documents.get(name)!;

  test("links only to files and headings that exist", () => {
    const targets = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target]) => target!);
    expect(targets.filter((target) => !exists(name, target))).toEqual([]);
  });

  test("names only files that exist", () => {
    const paths = [...text.matchAll(/`((?:packages|services|sites|tooling|docs)\/[\w./-]+)`/g)].map(
      ([, path]) => path!,
    );
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe("document docs/interface.md", () => {
  test("has a heading for each section that the code refers to", async () => {
    const files = await filesLike("{packages,services,sites,tooling}/*/{src,tests}/**/*.ts");
    const texts = await Promise.all(files.map(textOf));
    const referred = texts.flatMap((text) => [...text.matchAll(/contract: ([A-Z][A-Za-z -]+)/g)].map(([, to]) => to!));
    expect(referred.length).toBeGreaterThan(20);
    const headings = headingsOf(contract);
    // Accept two differences between a heading and the text after "contract:" in a comment. The text can be shorter,
    // because the heading may continue on the next line of the comment. The text can be longer, because other words may
    // follow.
    expect(
      referred.filter((to) => !headings.some((heading) => heading.startsWith(to.trim()) || to.startsWith(heading))),
    ).toEqual([]);
  });

  test("shows only signatures that are in vectors.json", async () => {
    const { vectors } = JSON.parse(await textOf("packages/signing/vectors.json")) as { vectors: Vector[] };
    const rows = [
      ...section("Signature").matchAll(/^\| `(GET|POST) ([^` ]+)`.*?\| +(?:`(.*?)`)? *\| `([0-9a-f]{64})`/gm),
    ];
    const shown = rows.map(([, method, path, body = "", signature]) => ({ method, path, body, signature }));
    expect(shown).toHaveLength(5);
    for (const one of shown) expect(vectors).toContainEqual(expect.objectContaining(one));
  });
});

test.each([
  ["a file import", "Columns", COLUMN_NAMES],
  ["a reconciliation", "Columns of payments", PAYMENT_COLUMN_NAMES],
])("docs/operations.md lists every column name that %s recognizes", (_what, heading, names) => {
  const text = documents.get("docs/operations.md")!.split(`### ${heading}\n`)[1]!.split("\n## ")[0]!;
  const rows = [...text.matchAll(/^\| `([\w.]+)` *\| (.*?) *\|$/gm)];
  const shown = rows.map(([, field, names]) => [field, names === "" ? [] : names!.split(", ")]);
  expect(Object.fromEntries(shown)).toEqual(names);
});

describe("documents in docs/lenders", () => {
  test("errors.md lists every error code with its status, its title and whether it is retryable", () => {
    const text = documents.get("docs/lenders/errors.md")!;
    const sections = text.split(/^### (?=\d{3}:)/m).slice(1);
    const listed = sections.flatMap((section) =>
      [...section.matchAll(/^\| `([A-Z_]+)` *\| (.+?) *\| (yes|no) *\| \S/gm)].map(([, code, title, retryable]) => ({
        code,
        status: Number(section.slice(0, 3)),
        title,
        retryable: retryable === "yes",
      })),
    );
    const known = PROBLEM_CODES.map((code) => {
      const { status, title, retryable } = problemBody(new Problem(code, ""), "req_1", "");
      return { code, status, title, retryable };
    });
    expect(listed.toSorted(byCode)).toEqual(known.toSorted(byCode));
  });

  test("retries.md shows the default waits between attempts", () => {
    const rows = [...documents.get("docs/lenders/retries.md")!.matchAll(/^\| (\d) +\| (\d+[smh]) +\|/gm)];
    expect(rows.map(([, , wait]) => wait).join(",")).toBe(DEFAULT_LADDER);
    expect(rows.map(([, attempt]) => Number(attempt))).toEqual(rows.map((_, index) => index + 1));
  });

  test("show the unchanged text of every sample, but not the programs that check the samples", async () => {
    const pages = names.filter((name) => name.startsWith("docs/lenders/")).map((name) => documents.get(name)!);
    const blocks = pages.flatMap((text) => [...text.matchAll(/^```\w+ file=(samples\/\S+)\n([\s\S]*?)^```$/gm)]);
    const shown = blocks.map(([, file, text]) => ({ file: `docs/lenders/${file}`, text }));
    const files = (await filesLike("docs/lenders/samples/*/*.*")).filter((file) => !/\/check\./i.test(file));
    expect(files.length).toBeGreaterThan(8);
    const samples = await Promise.all(files.map(async (file) => ({ file, text: await textOf(file) })));
    expect(shown.toSorted(byFile)).toEqual(samples.toSorted(byFile));
  });

  test("are all linked from the guide and from README.md", () => {
    const pages = names.filter((name) => name.startsWith("docs/lenders/") && name !== "docs/lenders/guide.md");
    const guide = documents.get("docs/lenders/guide.md")!;
    expect(pages.length).toBeGreaterThan(6);
    expect(pages.filter((page) => !guide.includes(`(${page.slice("docs/lenders/".length)}`))).toEqual([]);
    expect(pages.filter((page) => !documents.get("README.md")!.includes(`(${page}`))).toEqual([]);
  });

  test("signing.md shows an example and vector names that are in vectors.json", async () => {
    const text = documents.get("docs/lenders/signing.md")!;
    const { vectors } = JSON.parse(await textOf("packages/signing/vectors.json")) as { vectors: Vector[] };
    const [, canonical = ""] = /^```text canonical\n([\s\S]*?)\n```$/m.exec(text)!;
    const [method, path, timestamp, body] = canonical.split("\n");
    const [canonicalSha256, signature] = [...text.matchAll(/`([0-9a-f]{64})`/g)].map(([, digits]) => digits);
    const example = { method, path, timestamp, body, canonicalSha256, signature };
    expect(vectors).toContainEqual(expect.objectContaining(example));
    const [, table = ""] = /^\| Vector .*\n([\s\S]*?)\n\n/m.exec(text)!;
    const named = [...table.matchAll(/^\| `(.+?)` /gm)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(5);
    expect(vectors.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
  });
});

test("README.md lists every setting", async () => {
  const [, settings = ""] = /z\.object\(\{([\s\S]*?)\n\}\)/.exec(
    await textOf("services/collections/src/settings/config.ts"),
  )!;
  const known = [...settings.matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name]) => name!);
  expect(known.length).toBeGreaterThan(15);
  const [, table = ""] = /^## Settings$([\s\S]*?)^## /m.exec(documents.get("README.md")!)!;
  const rows = [...table.matchAll(/^\| (`[A-Z_`, ]+`) /gm)].map(([, cell]) => cell!);
  const listed = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name!));
  expect(listed.toSorted()).toEqual(known.toSorted());
});

test("every operation in docs/field-app/README.md is valid for the schema", async () => {
  const schema = buildSchema(await textOf("services/collections/schema.graphql"));
  const queries = [...documents.get("docs/field-app/README.md")!.matchAll(/^```graphql\n([\s\S]*?)^```$/gm)];
  expect(queries.length).toBeGreaterThan(8);
  for (const [, query] of queries) expect(validate(schema, parse(query!))).toEqual([]);
});

interface Vector {
  name: string;
  method: string;
  path: string;
  body?: string;
  signature: string;
}

function filesLike(pattern: string): Promise<string[]> {
  return Array.fromAsync(glob(pattern, { cwd: ROOT }));
}

function textOf(name: string): Promise<string> {
  return readFile(join(ROOT, name), "utf8");
}

/** Returns the text between a heading of the contract and the next heading of the same or a higher level. */
function section(heading: string): string {
  const [, level = "", rest = ""] = new RegExp(`^(#+) ${heading}$([\\s\\S]*)`, "m").exec(contract)!;
  return rest.split(new RegExp(`^#{1,${level.length}} `, "m"))[0]!;
}

function headingsOf(text: string): string[] {
  return [...text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!);
}

function exists(from: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const to = path === "" ? from : join(dirname(from), path);
  if (!existsSync(join(ROOT, to))) return false;
  const text = documents.get(to);
  return anchor === undefined || (text !== undefined && headingsOf(text).map(anchorOf).includes(anchor));
}

/** Returns the anchor that GitHub makes for a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function byCode(a: { code: string | undefined }, b: { code: string | undefined }): number {
  return String(a.code).localeCompare(String(b.code));
}

function byFile(a: { file: string }, b: { file: string }): number {
  return a.file.localeCompare(b.file);
}
