import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { installAlone } from "@collections/release/install-alone";
import { packAll, type Tarball } from "@collections/release/pack-all";
import { type Spread, spreadOf } from "../figures/statistics.ts";

/** What a host installs and imports for one of our packages, beyond `pg` with everything that `pg` needs. */
export interface InstalledPackage {
  readonly name: string;
  /** The number of installed packages, including ours. */
  readonly packages: number;
  readonly mb: number;
  /** The time of an import in a new process, minus the time of importing `pg` in the same round. */
  readonly msBeyondPg: Spread;
}

/** The packages that a stranger's application would use alone, and what the README says to install for each. */
const ALONE: Readonly<Record<string, readonly string[]>> = {
  ledger: ["ledger", "database", "money"],
  webhooks: ["webhooks", "database", "outbound", "pg-boss", "signing"],
};

const run = promisify(execFile);

/** Installs each package from its tarball in an empty folder, and imports it `rounds` times, in turn with `pg`. */
export async function measureInstalled(rounds: number): Promise<InstalledPackage[]> {
  const folder = await mkdtemp(join(tmpdir(), "collections-installed-"));
  try {
    const tarballs = await packAll(join(folder, "tarballs"));
    const measured: InstalledPackage[] = [];
    for (const [name, needed] of Object.entries(ALONE)) {
      measured.push(await measureOne(join(folder, name), `@collections/${name}`, pathsOf(tarballs, needed), rounds));
    }
    return measured;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function pathsOf(tarballs: readonly Tarball[], needed: readonly string[]): string[] {
  return tarballs.filter(({ name }) => needed.includes(name.replace("@collections/", ""))).map(({ path }) => path);
}

async function measureOne(
  folder: string,
  name: string,
  tarballs: readonly string[],
  rounds: number,
): Promise<InstalledPackage> {
  const ofPg = new Set((await installAlone(join(folder, "pg"), ["pg"])).keys());
  const app = join(folder, "app");
  const beyondPg = [...(await installAlone(app, tarballs))].filter(([path]) => !ofPg.has(path));
  const beyond: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const ms = (await importMs(app, name)) - (await importMs(app, "pg"));
    if (round > 0) beyond.push(ms);
  }
  return {
    name,
    packages: beyondPg.length,
    mb: beyondPg.reduce((sum, [, bytes]) => sum + bytes, 0) / 1e6,
    msBeyondPg: spreadOf(beyond),
  };
}

async function importMs(cwd: string, specifier: string): Promise<number> {
  const script = `const at = performance.now(); await import(${JSON.stringify(specifier)}); console.log(performance.now() - at);`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script], { cwd });
  return Number(stdout);
}
