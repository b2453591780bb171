import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { findPackageJSON, isBuiltin, stripTypeScriptTypes } from "node:module";
import { posix } from "node:path";
import { pathToFileURL } from "node:url";
import { init, parse } from "es-module-lexer";
import { type RequestHandler, Router } from "express";

/**
 * The folders that contain the TypeScript sources of the modules. The key is the first part of the path under which the
 * modules of the folder are served. Each folder must be inside the folder of its package.json.
 */
export type SourceFolders = Readonly<Record<string, URL>>;

/**
 * The JavaScript of each module. The key is the path under which it is served: `pages/reference.ts`,
 * `signing/index.ts`.
 */
export type BrowserModules = ReadonlyMap<string, string>;

/** Thrown if a module cannot run in a browser; the message names the module and says why. */
export class BrowserModuleError extends Error {
  override readonly name = "BrowserModuleError";
  readonly code = "BROWSER_MODULE";
}

/**
 * Translates the TypeScript modules `entries` and everything they import to ES modules for browsers. The results have
 * no types and import each other by relative paths, so they can be served below any path. Packages are resolved with
 * the conditions `browser`, `import` and `default`.
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

/** The folder with the modules of `@collections/web-pages/browser`. */
export const SHARED_BROWSER_MODULES = new URL("./browser", import.meta.url);

/** Returns a folder's URL without the trailing slash, as `SourceFolders` requires. */
export function sourceFolder(folder: URL): URL {
  return new URL(folder.href.replace(/\/$/, ""));
}

/** Returns the folder of a package that the module `from` imports. */
export async function packageFolder(name: string, from: URL): Promise<URL> {
  return sourceFolder(new URL(".", await manifestOf(name, from)));
}

/** Serves modules by their paths. Browsers cache them and revalidate them each time. */
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
  // The source map is not served, so its comment is removed.
  const source = stripTypeScriptTypes(await readFile(file, "utf8")).replace(/^\/\/# sourceMappingURL=.*$/m, "");
  const imported: URL[] = [];
  let text = "";
  let end = 0;
  for (const { n: specifier, s: from, e: to, d: dynamicAt } of parse(source, path)[0]) {
    if (specifier === undefined || dynamicAt !== -1) {
      throw new BrowserModuleError(`${path} may only use static imports, without import.meta.`);
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
  if (isBuiltin(specifier))
    throw new BrowserModuleError(`${specifier} is a module of Node and does not run in browsers.`);
  if (specifier.startsWith("#")) return inPackage(manifestAbove(from), "imports", specifier);
  const [name] = /^(?:@[^/]+\/)?[^/]+/.exec(specifier) as unknown as [string];
  return inPackage(await manifestOf(name, from), "exports", `.${specifier.slice(name.length)}`);
}

/** Returns the file that a package provides to browsers for one of its entry points. */
async function inPackage(manifest: URL, field: "imports" | "exports", entry: string): Promise<URL> {
  const { [field]: entries = {} } = JSON.parse(await readFile(manifest, "utf8")) as Manifest;
  const target = targetForBrowsers(entries[entry]);
  if (target === undefined)
    throw new BrowserModuleError(`${field} of ${manifest.pathname} has no entry ${entry} for browsers.`);
  return new URL(target, manifest);
}

type Target = string | { readonly [condition: string]: Target };

interface Manifest {
  readonly imports?: Readonly<Record<string, Target>>;
  readonly exports?: Readonly<Record<string, Target>>;
}

const BROWSER_CONDITIONS: ReadonlySet<string> = new Set(["browser", "import", "default"]);

function targetForBrowsers(target: Target | undefined): string | undefined {
  if (typeof target !== "object") return target;
  const [, chosen] = Object.entries(target).find(([condition]) => BROWSER_CONDITIONS.has(condition)) ?? [];
  return targetForBrowsers(chosen);
}

/** Returns the package.json of a package that `from` imports. Resolves symbolic links, as Node does. */
async function manifestOf(name: string, from: URL): Promise<URL> {
  const path = findPackageJSON(name, from);
  if (path === undefined) throw new BrowserModuleError(`${from.pathname} imports ${name}, which is not installed.`);
  return pathToFileURL(await realpath(path));
}

/** Returns the package.json of the package that a module belongs to. */
function manifestAbove(file: URL): URL {
  for (let folder = new URL(".", file); ; folder = new URL("..", folder)) {
    const manifest = new URL("package.json", folder);
    if (existsSync(manifest)) return manifest;
    if (folder.pathname === "/")
      throw new BrowserModuleError(`${file.pathname} is not in a package: no package.json above it.`);
  }
}

function pathOf(file: URL, folders: SourceFolders): string {
  for (const [name, folder] of Object.entries(folders)) {
    if (file.href.startsWith(`${folder.href}/`)) return `${name}/${file.href.slice(folder.href.length + 1)}`;
  }
  throw new BrowserModuleError(`${file.href} is not in a folder that is served to browsers.`);
}

function relativePath(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}
