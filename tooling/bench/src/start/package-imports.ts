import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Spread, spreadOf } from "../figures/statistics.ts";

/** The cost of importing one of our packages in a new process. In each round, `pg` is imported too, for comparison. */
export interface ImportCost {
  readonly name: string;
  readonly ms: Spread;
  /** Resident memory after the import, minus the resident memory of a process that imports nothing. */
  readonly mb: Spread;
  /** The ratio of the import's time to the time of importing `pg` in the same round. */
  readonly ratio: Spread;
}

interface Cost {
  readonly ms: number;
  readonly mb: number;
}

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** Imports each package of the workspace from its sources, `rounds` times, after one round that fills Node's caches. */
export async function measureImports(rounds: number): Promise<ImportCost[]> {
  const packages = readdirSync(`${ROOT}packages`).toSorted();
  const measured: { pg: Cost; ours: Map<string, Cost> }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const nothing = await costOf("node:os", "database");
    const beyond = ({ ms, mb }: Cost): Cost => ({ ms, mb: mb - nothing.mb });
    const ours = new Map<string, Cost>();
    for (const name of packages) ours.set(name, beyond(await costOf(`@collections/${name}`, name)));
    measured.push({ pg: beyond(await costOf("pg", "database")), ours });
  }
  const counted = measured.slice(1);
  return packages.map((name) => {
    const costs = counted.map(({ pg, ours }) => ({ ...ours.get(name)!, pgMs: pg.ms }));
    return {
      name: `@collections/${name}`,
      ms: spreadOf(costs.map(({ ms }) => ms)),
      mb: spreadOf(costs.map(({ mb }) => mb)),
      ratio: spreadOf(costs.map(({ ms, pgMs }) => ms / pgMs)),
    };
  });
}

/**
 * Imports one module in a new process and returns its cost. The process runs in the folder of one of our packages, from
 * which Node resolves the module.
 */
async function costOf(specifier: string, folder: string): Promise<Cost> {
  const script = `
    const startedAt = performance.now();
    await import(${JSON.stringify(specifier)});
    console.log(JSON.stringify({ ms: performance.now() - startedAt, mb: process.memoryUsage().rss / 1e6 }));`;
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: `${ROOT}packages/${folder}` });
  return JSON.parse(stdout) as Cost;
}
