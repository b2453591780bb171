import { availableParallelism, cpus, loadavg, totalmem } from "node:os";

/** What the figures were measured on: they mean nothing without it, and little but their ratios elsewhere. */
export interface Machine {
  readonly processors: number;
  readonly model: string;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly node: string;
  /** Absent where no database took part. */
  readonly postgres?: string;
  /** Processes that wanted to run in the last minute before the benchmark; 0 where the system does not say. */
  readonly loadBefore: number;
}

export function describeMachine(postgres: string | undefined): Machine {
  return {
    processors: availableParallelism(),
    model: cpus()[0]?.model ?? "unknown",
    memoryGiB: Math.round(totalmem() / 1_024 ** 3),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    ...(postgres !== undefined && { postgres }),
    loadBefore: Number(loadavg()[0]!.toFixed(1)),
  };
}
