import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { posix } from "node:path";
import { init, parse } from "es-module-lexer";
import { type RequestHandler, Router } from "express";

/** Where the sources of modules are, by the first part of their paths; each a folder with its package.json above it. */
export type SourceFolders = Readonly<Record<string, URL>>;

/** What browsers get, by path: `pages/reference.ts`, `signing/index.ts`. */
export type BrowserModules = ReadonlyMap<string, string>;

/** A module that no browser can run; `detail` names it and says why. */
export class BrowserModuleError extends Error {
  override readonly name = "BrowserModuleError";
  readonly code = "BROWSER_MODULE";
}

/**
 * The TypeScript modules `entries` with all that they import, as ES modules for browsers: without types, importing each
 * other by relative paths, so that they can be served below any path. A package is taken by its `default` condition.
 */
export async function browserModules(entries: readonly URL[], folders: SourceFolders): Promise<BrowserModules> {
  await init;
  const modules = new Map<string, string>();
  const toLoad = [...entries];
  for (let file = toLoad.pop(); file; file = toLoad.pop()) {
    const path = pathOf(file, folders);
    if (modules.has(path)) continue;
    const { text, imported } = await translated(file, path, folders);
    modules.set(path, text);
    toLoad.push(...imported);
  }
  return modules;
}

/** Serves modules by their paths. Browsers keep them and ask whether they have changed. */
export function serveBrowserModules(modules: BrowserModules): RequestHandler {
  const router = Router({ caseSensitive: true });
  for (const [path, text] of modules) {
    const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
    router.get(`/${path}`, (_, response) => {
      response.set({ ETag: etag, "Cache-Control": "no-cache" }).type("text/javascript").send(text);
    });
  }
  return router;
}

async function translated(file: URL, path: string, folders: SourceFolders) {
  const source = stripTypeScriptTypes(await readFile(file, "utf8"));
  const imported: URL[] = [];
  let text = "";
  let end = 0;
  for (const { n: specifier, s: from, e: to, d: dynamicAt } of parse(source, path)[0]) {
    if (specifier === undefined || dynamicAt !== -1) {
      throw new BrowserModuleError(`${path} may only use static imports, and no import.meta.`);
    }
    const target = await resolved(specifier, file);
    imported.push(target);
    text += source.slice(end, from) + relativePath(path, pathOf(target, folders));
    end = to;
  }
  return { text: text + source.slice(end), imported };
}

async function resolved(specifier: string, from: URL): Promise<URL> {
  if (specifier.startsWith(".")) return new URL(specifier, from);
  if (!specifier.startsWith("#")) return new URL(import.meta.resolve(specifier));
  const manifest = new URL("../package.json", from);
  const { imports = {} } = JSON.parse(await readFile(manifest, "utf8")) as { imports?: Record<string, Conditions> };
  const target = imports[specifier]?.default;
  if (target === undefined) throw new BrowserModuleError(`${specifier} has no default in ${manifest.pathname}.`);
  return new URL(target, manifest);
}

interface Conditions {
  readonly default?: string;
}

function pathOf(file: URL, folders: SourceFolders): string {
  for (const [name, folder] of Object.entries(folders)) {
    if (file.href.startsWith(`${folder.href}/`)) return `${name}/${file.href.slice(folder.href.length + 1)}`;
  }
  throw new BrowserModuleError(`${file.href} is in no folder for browsers.`);
}

function relativePath(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}
