import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SERVICE = join(ROOT, "services/collections");

/**
 * The folder for bundles. A bundle's modules must be two folders below the service's folder, like
 * `src/settings/local-data.ts`, which finds `.data` by a relative path.
 */
export const BUNDLES = join(SERVICE, "dist");

/**
 * Packages that stay out of the bundle. The sites and the embedded PostgreSQL of sandboxes use files beside their own
 * modules. GraphiQL is larger than all other parts together, and the service imports it only for its page.
 */
const SEPARATE = [
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
  await mkdir(BUNDLES, { recursive: true });
  const draft = await mkdtemp(`${folder}-draft-`);
  try {
    await bundleInto(draft);
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true });
    if (!["ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

async function bundleInto(folder: string): Promise<void> {
  const bundle = await rolldown({
    input: { main: join(SERVICE, "src/main.ts"), cli: join(SERVICE, "src/cli/main.ts") },
    platform: "node",
    external: (id) => id.startsWith("node:") || [...SEPARATE, ...NOT_INSTALLED].includes(id),
    onLog(level, log) {
      if (level === "warn") throw new Error(log.message);
    },
  });
  await bundle.write({ dir: folder, format: "esm", keepNames: true });
  await bundle.close();
}
