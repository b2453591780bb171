import { setTimeout as pause } from "node:timers/promises";
import { until } from "../deadline.ts";
import { type Disk, mountedDisk, shimmedDisk, mountUnavailable } from "../processes/disk.ts";
import type { Fault } from "../fault.ts";
import type { OwnPostgres } from "../processes/own-postgres.ts";
import { shimUnavailable } from "../processes/shim.ts";
import type { Stage } from "../stage/stage.ts";
import { underTraffic } from "../under-traffic.ts";

const ROUNDS = { quick: 1, long: 10, legs: 1 };
const DISK_FULL = "53100";
const BACK_WITHIN_MS = 60_000;

/**
 * Keeps PostgreSQL's write-ahead log small, so that PostgreSQL soon needs new files for it. A full disk then stops not
 * only the tables but also the log.
 */
const POSTGRES = { max_wal_size: "64MB", min_wal_size: "32MB" };

export const fullDisk: Fault = {
  name: "full-disk",
  sentence: "PostgreSQL's filesystem, a small one made for the run, is full for some seconds.",
  rounds: ROUNDS,
  unavailableReason: mountUnavailable,
  run: (leg) => onDisk(mountedDisk(), leg),
};

export const fullDiskShim: Fault = {
  name: "full-disk-shim",
  sentence:
    "Like full-disk, but needs no right to mount: a preloaded library prevents PostgreSQL's files from growing.",
  rounds: ROUNDS,
  unavailableReason: shimUnavailable,
  run: (leg) => onDisk(shimmedDisk(), leg),
};

async function onDisk(disk: Disk, leg: Parameters<Fault["run"]>[0]): ReturnType<Fault["run"]> {
  try {
    return await underTraffic({
      stage: { dataDir: disk.dataDir, postgres: POSTGRES, postgresEnvironment: disk.environment },
      mustCount: ["hits", "refused"],
      async strike(stage) {
        disk.fill();
        try {
          await pause(3_000 + stage.random() * 3_000);
          if (await isFull(stage.postgres)) stage.model.counts.hits += 1;
        } finally {
          disk.free();
        }
        await restartIfDown(stage);
      },
    })(leg);
  } finally {
    disk.close();
  }
}

/**
 * Returns whether the disk is full for PostgreSQL: a table cannot grow, or the server does not answer because not even
 * its log can grow.
 */
async function isFull({ pool }: OwnPostgres): Promise<boolean> {
  try {
    await pool.query("create table public.faults_probe as select repeat('x', 500) from generate_series(1, 20000)");
    await pool.query("drop table public.faults_probe");
    return false;
  } catch (error) {
    return (error as { code?: string }).code === DISK_FULL || !(await answers(pool));
  }
}

/** Starts the server again if it stopped because of the full disk, as an operator would. */
async function restartIfDown({ postgres }: Stage): Promise<void> {
  await until("PostgreSQL answers again", BACK_WITHIN_MS, async () => {
    if (!postgres.isUp()) await postgres.startAgain();
    return answers(postgres.pool);
  });
}

async function answers(pool: OwnPostgres["pool"]): Promise<boolean> {
  return pool.query("select 1").then(
    () => true,
    () => false,
  );
}
