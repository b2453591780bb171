import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PALETTE } from "@collections/web-pages";

/** The style sheets in their order: later ones override earlier ones. */
const STYLES = ["base.css", "frame.css", "controls.css", "parts.css", "cases.css", "door.css", "contrast.css"];

/** The first module of each script: of the app itself, and of its service worker. */
const ENTRIES = { app: "phone/main.ts", worker: "worker/offline.ts" } as const;

type ScriptName = keyof typeof ENTRIES;

/** A file of the app as it is served. */
export interface ServedFile {
  /** The path below /app. The name has a hash of the content, so that browsers need not ask again. */
  readonly path: string;
  readonly text: string;
}

/** Returns the app's script: all modules below `phone` in one file. */
export async function appScript(): Promise<ServedFile> {
  return hashed("app", "js", await script("app"));
}

/** Returns the script of the service worker. Its path never changes, because browsers update a worker by its path. */
export async function workerScript(): Promise<ServedFile> {
  return { path: "/offline.js", text: await script("worker") };
}

/** Returns the palette of all sites and all style sheets as one file. */
export async function appStyles(): Promise<ServedFile> {
  const files = [PALETTE, ...STYLES.map((name) => new URL(`./assets/${name}`, import.meta.url))];
  const sheets = await Promise.all(files.map((file) => readFile(file, "utf8")));
  return hashed("app", "css", sheets.join("\n"));
}

/**
 * The folder for bundled scripts, in the folder of this package. A release has it, because it contains no bundler. A
 * checkout never has it: there the sources are bundled at the first request.
 */
const BUNDLED = "bundled";

/** Bundles the scripts into the copy of this package in a release. `app` is the path of that copy. */
export async function writeScripts(app: string): Promise<void> {
  await mkdir(join(app, BUNDLED));
  for (const name of Object.keys(ENTRIES) as ScriptName[]) {
    await writeFile(join(app, BUNDLED, `${name}.js`), await bundled(name));
  }
}

function script(name: ScriptName): Promise<string> {
  const file = new URL(`../${BUNDLED}/${name}.js`, import.meta.url);
  return existsSync(file) ? readFile(file, "utf8") : bundled(name);
}

/** Bundles one of the scripts from its sources. */
async function bundled(name: ScriptName): Promise<string> {
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({
    input: fileURLToPath(new URL(ENTRIES[name], import.meta.url)),
    platform: "browser",
    onLog(level, log) {
      if (level === "warn") throw new Error(log.message);
    },
  });
  try {
    const { output } = await bundle.generate({ format: name === "app" ? "esm" : "iife", minify: true });
    const [chunk, ...others] = output;
    if (others.length > 0) throw new Error(`The script ${name} was divided into ${output.length} files.`);
    return chunk.code;
  } finally {
    await bundle.close();
  }
}

function hashed(name: string, type: string, text: string): ServedFile {
  const hash = createHash("sha256").update(text).digest("base64url").slice(0, HASH_CHARS);
  return { path: `/${name}-${hash}.${type}`, text };
}

const HASH_CHARS = 12;
