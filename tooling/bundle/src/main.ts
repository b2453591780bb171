/** The program behind `pnpm build`. */
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { BUNDLES, ROOT, updateBundle } from "./bundle.ts";

const HELP = `Usage: pnpm build [--name NAME] [--json]

Bundles the service and the operators' CLI into services/collections/dist/NAME. Its main.js and cli.js do what
services/collections/src/main.ts and services/collections/src/cli/main.ts do, but start sooner. They need the installed
packages of this checkout. "pnpm start" and "pnpm collections" run the bundle named "service" if it was built from the
present sources, and otherwise the sources. "pnpm install" builds the bundle; build it again after each update.

Options:
  --name NAME  letters, digits and hyphens; a bundle of that name is replaced (default: service). The files of the
               earlier bundle are kept for 30 days, for processes that still run it
  --json       prints {"main": …, "cli": …}, the paths of the two files
  --help       shows this text

Example: pnpm build && node services/collections/dist/service/main.js
`;

process.exitCode = await main(process.argv.slice(2));

/** Returns the exit code: 0, 1 if the bundle cannot be built, or 2 for a wrong argument. */
async function main(args: string[]): Promise<number> {
  let values: { name: string; json?: boolean; help?: boolean };
  try {
    values = parseArgs({
      args,
      options: { name: { type: "string", default: "service" }, json: { type: "boolean" }, help: { type: "boolean" } },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (!/^[a-z0-9-]+$/i.test(values.name)) {
    return refuse(`--name "${values.name}" may only contain letters, digits and hyphens.`);
  }
  const folder = join(BUNDLES, values.name);
  await updateBundle(folder);
  const files = { main: relative(ROOT, join(folder, "main.js")), cli: relative(ROOT, join(folder, "cli.js")) };
  process.stdout.write(values.json ? `${JSON.stringify(files)}\n` : `Built ${files.main} and ${files.cli}\n`);
  return 0;
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n\n${HELP}`);
  return 2;
}
