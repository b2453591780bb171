import { closeSync, fdatasyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { quantile } from "./statistics.ts";

/** The machine that was measured. Figures from different machines cannot be compared; only their ratios can. */
export interface Machine {
  readonly processors: number;
  readonly model: string;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly node: string;
  readonly postgres: string;
  /** How long it takes to write a page to the disk: the median of 100 writes. A commit takes at least that long. */
  readonly fsyncUs: number;
  /** The load average of the last minute before the benchmark; 0 if the system does not report it. */
  readonly loadBefore: number;
}

const PAGE_BYTES = 8_192;
const PAGES = 100;

/** `dataDir` is PostgreSQL's data folder. */
export function describeMachine(postgres: string, dataDir: string): Machine {
  return {
    processors: availableParallelism(),
    model: cpus()[0]?.model ?? "unknown",
    memoryGiB: Math.round(totalmem() / 1_024 ** 3),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    postgres,
    fsyncUs: fsyncUs(dataDir),
    loadBefore: loadBefore(),
  };
}

export function loadBefore(): number {
  return Number(loadavg()[0]!.toFixed(1));
}

function fsyncUs(dataDir: string): number {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, `fsync-${process.pid}`);
  const file = openSync(path, "w");
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const times = Array.from({ length: PAGES }, (_, index) => {
    writeSync(file, page, 0, PAGE_BYTES, index * PAGE_BYTES);
    const startedAt = performance.now();
    fdatasyncSync(file);
    return (performance.now() - startedAt) * 1_000;
  });
  closeSync(file);
  rmSync(path);
  return quantile(
    times.toSorted((a, b) => a - b),
    0.5,
  );
}
