import type { Fault } from "./fault.ts";
import { badLender } from "./faults/bad-lender.ts";
import { clockJumps } from "./faults/clock-jumps.ts";
import { cutConnections } from "./faults/cut-connections.ts";
import { exhaustConnections } from "./faults/exhaust-connections.ts";
import { failover } from "./faults/failover.ts";
import { freezePooler } from "./faults/freeze-pooler.ts";
import { fullDisk, fullDiskShim } from "./faults/full-disk.ts";
import { hangingMail } from "./faults/hanging-mail.ts";
import { killAtLength } from "./faults/kill-at-length.ts";
import { killBoth } from "./faults/kill-both.ts";
import { killDrain } from "./faults/kill-drain.ts";
import { killImport } from "./faults/kill-import.ts";
import { killMigration } from "./faults/kill-migration.ts";
import { killPooler } from "./faults/kill-pooler.ts";
import { killReplay } from "./faults/kill-replay.ts";
import { killNodes } from "./faults/kill-nodes.ts";
import { killServers } from "./faults/kill-servers.ts";
import { killWorkers } from "./faults/kill-workers.ts";
import { lostWorker } from "./faults/lost-worker.ts";
import { restartPostgres } from "./faults/restart-postgres.ts";
import { slowStatements } from "./faults/slow-statements.ts";
import { soak } from "./faults/soak.ts";

/**
 * Every fault, in the order in which they start. The first fault needs no database with loans, so the database with
 * loans for the other faults is filled while the first fault runs.
 */
export const faults: readonly Fault[] = [
  killMigration,
  killServers,
  killWorkers,
  killBoth,
  killAtLength,
  killDrain,
  killReplay,
  killImport,
  restartPostgres,
  killPooler,
  freezePooler,
  cutConnections,
  exhaustConnections,
  slowStatements,
  fullDisk,
  fullDiskShim,
  failover,
  clockJumps,
  badLender,
  hangingMail,
  killNodes,
  lostWorker,
  soak,
];
