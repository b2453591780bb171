import { readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { CHANGES, DOCS, PAGES } from "../src/contents.ts";
import { OPENAPI, serveDocumentation } from "./fixtures/serve-documentation.ts";

const PROBLEM_CODES = OPENAPI.components.schemas.Problem.properties.code.enum;

let origin: string;

beforeAll(async () => {
  origin = await serveDocumentation();
});

async function htmlAt(path: string): Promise<string> {
  const answer = await fetch(origin + path);
  expect(`${path} ${answer.status}`).toBe(`${path} 200`);
  return answer.text();
}

test("every guide for lenders is a page, and the first one is the home page", async () => {
  const files = (await readdir(new URL("lenders/", DOCS))).filter((name) => name.endsWith(".md"));
  const listed = PAGES.flatMap(({ file }) => (file?.startsWith("lenders/") ? [file.slice("lenders/".length)] : []));
  expect(listed.toSorted()).toEqual(files.toSorted());
  expect(PAGES[0]).toMatchObject({ path: "/docs", file: "lenders/guide.md" });
  const guide = await fetch(`${origin}/docs/guide`, { redirect: "manual" });
  expect([guide.status, guide.headers.get("location")]).toEqual([301, "/docs"]);
});

test.each(["database", "flows", "ledger", "money", "webhooks"])(
  "the page of the package %s shows its README with the example program",
  async (name) => {
    const html = await htmlAt(`/docs/packages/${name}`);
    expect(html).toContain(`<h1 id="collections${name}">@collections/${name} `);
    expect(html).toMatch(/<pre tabindex="0" role="group" aria-label="[^"]+"><code>.*import.*@collections\//s);
    expect(html).toContain("<strong>Not here:</strong>");
  },
);

test("every tag of the OpenAPI document has a page in the reference", () => {
  const referenced = PAGES.flatMap(({ reference }) => (typeof reference === "string" ? [reference] : []));
  expect(referenced).toEqual(OPENAPI.tags.map(({ name }) => name));
});

describe.each(PAGES)("$path", ({ path, title }) => {
  test("has one h1, and is in the navigation", async () => {
    const html = await htmlAt(path);
    expect(html.match(/<h1\b/g)).toHaveLength(1);
    const current = [...html.matchAll(/<a href="([^"]+)" aria-current="page">([^<]+)</g)];
    expect(current.map(([, href, text]) => [href, text])).toEqual([[path, title]]);
  });

  test("is cached by browsers until it changes", async () => {
    const { headers } = await fetch(origin + path);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-cache");
    const again = await fetch(origin + path, {
      headers: { "If-None-Match": headers.get("etag")!, "Cache-Control": "max-age=0" },
    });
    expect(again.status).toBe(304);
    const head = await fetch(origin + path, { method: "HEAD" });
    expect([head.status, head.headers.get("etag")]).toEqual([200, headers.get("etag")]);
  });

  test("forbids content from other hosts by its Content-Security-Policy, and has no inline scripts or styles", async () => {
    const policy = (await fetch(origin + path)).headers.get("content-security-policy")!;
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:|\*|blob:/);
    const html = await htmlAt(path);
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\bon\w+="|style="/);
    expect(
      [...html.matchAll(/<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!\/docs\/|data:)[^"]*"/g)].map(String),
    ).toEqual([]);
  });

  test("has no dead links", async () => {
    const html = await htmlAt(path);
    const targets = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, target]) => target!);
    const own = new Set(targets.filter((target) => !/^[a-z]+:/.test(target)));
    const missing = await Promise.all([...own].map(async (target) => ((await isThere(target, html)) ? [] : [target])));
    expect(missing.flat()).toEqual([]);
  });
});

/** The content of each page that a link leads to, by its path, so that each page is requested only once. */
const known = new Map<string, Promise<string | undefined>>();

async function isThere(target: string, ownHtml: string): Promise<boolean> {
  const [path = "", anchor] = target.split("#");
  if (path !== "" && !known.has(path))
    known.set(
      path,
      fetch(origin + path).then((answer) => (answer.ok ? answer.text() : undefined)),
    );
  const text = path === "" ? ownHtml : await known.get(path);
  return text !== undefined && (anchor === undefined || text.includes(` id="${anchor}"`));
}

test("the type URL of every error leads to its row on the page of errors", async () => {
  const errors = await htmlAt("/docs/errors");
  const named = new Set([...errors.matchAll(/<tr id="([^"]+)"/g)].map(([, name]) => name));
  expect(PROBLEM_CODES.filter((code) => !named.has(code))).toEqual([]);
  for (const code of PROBLEM_CODES) {
    const { status, headers } = await fetch(`${origin}/errors/${code}`, { redirect: "manual" });
    expect([status, headers.get("location")]).toEqual([301, `/docs/errors#${code}`]);
  }
});

test("the code samples are served as text, and the signature vectors as JSON", async () => {
  const sample = await fetch(`${origin}/docs/samples/python/signing.py`);
  expect([sample.status, sample.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(await sample.text()).toContain("def ");
  const vectors = (await (await fetch(`${origin}/docs/vectors.json`)).json()) as { vectors: unknown[] };
  expect(vectors.vectors.length).toBeGreaterThan(10);
});

test("the page of changes has the text of every changeset, with those of the service first", async () => {
  const page = await (await fetch(`${origin}/docs/changes`)).text();
  expect(
    [...page.matchAll(/<h2[^>]*>.*?<\/h2>/gs)].map(([heading]) => heading.replaceAll(/<[^>]*>|#/g, "").trim()),
  ).toEqual(["New in the service", "Corrected in the service", "New in packages", "Corrected in packages"]);
  const markdown = await (await fetch(`${origin}/docs/changes.md`)).text();
  const changesets = readdirSync(CHANGES).filter((name) => name.endsWith(".md"));
  expect(changesets.length).toBeGreaterThan(0);
  for (const name of changesets) {
    const [, first] = /^---\n.*?\n---\n+([^\n]+)/s.exec(readFileSync(new URL(name, CHANGES), "utf8"))!;
    expect(markdown, name).toContain(first);
  }
});

test("llms.txt has a title and a summary, and links to the Markdown of every page that has any", async () => {
  const answer = await fetch(`${origin}/llms.txt`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  const text = await answer.text();
  expect(text).toMatch(/^# Partner Collections for lenders\n\n> /);
  const links = [...text.matchAll(/^- \[[^\]]+\]\((\/docs[^)]*)\)/gm)].map(([, path]) => path!);
  expect(links).toEqual(PAGES.filter(({ file, folder }) => file ?? folder).map(({ path }) => `${path}.md`));
  for (const link of links) {
    const file = await fetch(origin + link);
    expect([link, file.status, file.headers.get("content-type")]).toEqual([link, 200, "text/markdown; charset=utf-8"]);
    expect(await file.text()).toMatch(/^# /m);
  }
});

test.each([
  "/docs/nothing",
  "/docs/nothing.md",
  "/docs/reference.md",
  "/docs/%zz",
  "/docs/assets/",
  "/docs/assets/..%2fsite.ts",
  "/docs/samples",
  "/docs/DOCS",
  "/errors/%zz",
])("the answer to the unknown path %s is a page that says that the page does not exist", async (path) => {
  const answer = await fetch(origin + path);
  expect(answer.status).toBe(404);
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  const html = await answer.text();
  expect(html).toContain("<h1>This page does not exist</h1>");
  expect(html).not.toContain("node_modules");
});

test("behind a proxy that removes a prefix, every link contains the prefix", async () => {
  const html = await (await fetch(`${await serveDocumentation("/collections")}/docs`)).text();
  const targets = [...html.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, target]) => target!);
  expect(targets.length).toBeGreaterThan(10);
  expect(targets.filter((target) => !target.startsWith("/collections/"))).toEqual([]);
});
