import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { withoutSecondUndici } from "./without-second-undici.ts";
import { inputsOf } from "./inputs.ts";

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** The folder of the service. */
export const SERVICE = join(ROOT, "services/collections");

/**
 * The folder for bundles of `pnpm build`. Their modules must be two folders below the service's folder, like
 * `src/settings/local-data.ts`, which finds `.data` by a relative path. A release never uses `.data`, so its bundle may
 * be anywhere.
 */
export const BUNDLES = join(SERVICE, "dist");

/**
 * Packages that stay out of the bundle. The sites and the embedded PostgreSQL of sandboxes use files beside their own
 * modules. GraphiQL is larger than all other parts together, and the service imports it only for its page.
 */
const SEPARATE = [
  "@collections/console",
  "@collections/docs-site",
  "@collections/field-app",
  "@collections/postgres",
  "@graphql-yoga/render-graphiql",
];

/** Optional libraries of our dependencies. They are not installed. */
const NOT_INSTALLED = ["pg-native", "cloudflare:sockets"];

/**
 * Writes the bundle of the service (`main.js`) and of the operators' CLI (`cli.js`). The folder appears only when it is
 * complete. If two processes write the same folder at the same time, the bundle of the process that finishes first is
 * kept.
 *
 * @param folder a folder in `BUNDLES` that does not exist yet
 */
export async function writeBundle(folder: string): Promise<void> {
  const draft = await draftBundle(folder);
  try {
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true });
    if (!["ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** The files that every bundle has under the same name. The names of all other files contain a hash of their content. */
const ENTRIES = ["main.js", "cli.js"];
/** The list of the files that the bundle was made from. See `inputsOf`. */
const INPUTS = "inputs.json";
/** The list of the files of the present bundle. */
const FILES = "files.json";
const KEPT_FOR_MS = 30 * 24 * 3_600_000;

/**
 * Writes the bundle into a folder that may have an earlier bundle. Processes may still run the earlier one and import some
 * of its files only later. So those files stay for 30 days after they were replaced. If the build is interrupted, the
 * launcher runs the sources, because the list of inputs is written last.
 *
 * @param folder a folder in `BUNDLES`
 */
export async function updateBundle(folder: string): Promise<void> {
  const draft = await draftBundle(folder);
  try {
    await mkdir(folder, { recursive: true });
    await rm(join(folder, INPUTS), { force: true });
    const names = await readdir(draft);
    await keepReplaced(folder, names);
    const last = [...ENTRIES, INPUTS].filter((name) => names.includes(name));
    for (const name of [...names.filter((one) => !last.includes(one)), ...last]) {
      await rename(join(draft, name), join(folder, name));
    }
    await writeFile(join(folder, FILES), JSON.stringify(names));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Marks the files that a new bundle replaces with the present time, and removes those that were replaced long ago. */
async function keepReplaced(folder: string, names: readonly string[]): Promise<void> {
  const present = (await readFile(join(folder, FILES), "utf8").then(JSON.parse, () => undefined)) as
    | string[]
    | undefined;
  const now = new Date();
  for (const name of (await readdir(folder)).filter((one) => one !== FILES && !names.includes(one))) {
    const file = join(folder, name);
    if (present?.includes(name) ?? true) await utimes(file, now, now);
    else if (now.getTime() - (await stat(file)).mtimeMs > KEPT_FOR_MS) await rm(file);
  }
}

/** Makes a bundle beside its future folder. Returns the path of the draft, which the caller moves or removes. */
async function draftBundle(folder: string): Promise<string> {
  await mkdir(BUNDLES, { recursive: true });
  const draft = await mkdtemp(`${folder}-draft-`);
  try {
    const startedAtMs = Date.now();
    const { files } = await bundleInto(draft);
    // The launcher runs the bundle only while these files are the same. Without the list it always runs the sources.
    const inputs = inputsOf(ROOT, files, startedAtMs);
    if (inputs) await writeFile(join(draft, INPUTS), JSON.stringify(inputs));
    return draft;
  } catch (error) {
    await rm(draft, { recursive: true });
    throw error;
  }
}

/** The packages and the files that a bundle was made from. */
export interface BundledFrom {
  /** The names of the packages that the bundle imports from `node_modules`, sorted. */
  readonly packages: readonly string[];
  /** The paths of all files that were read for the bundle. */
  readonly files: readonly string[];
}

/** Writes the files of the bundle into an existing folder. */
export async function bundleInto(folder: string): Promise<BundledFrom> {
  const bundle = await rolldown({
    input: { main: join(SERVICE, "src/main.ts"), cli: join(SERVICE, "src/cli/main.ts") },
    platform: "node",
    plugins: [withoutSecondUndici()],
    external: (id) => (id.startsWith("node:") && id !== "node:http") || [...SEPARATE, ...NOT_INSTALLED].includes(id),
    onLog(level, log) {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: "esm",
    keepNames: true,
    // Keep the names, so that stack traces are readable. Remove blanks and comments, so that Node reads half as many bytes.
    minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
  });
  const files = await bundle.watchFiles;
  await bundle.close();
  const chunks = output.filter((one) => one.type === "chunk");
  const imports = new Set(chunks.flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports]));
  return { packages: SEPARATE.filter((name) => imports.has(name)), files };
}
