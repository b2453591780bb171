import type { PackagesPlan } from "../plan.ts";
import type { BenchServer } from "../server/bench-server.ts";
import { type EventReport, measureEvents } from "./events.ts";
import { type LedgerReport, measureLedgers } from "./ledgers.ts";
import type { Row } from "./measured-row.ts";
import { measureSignatures } from "./signatures.ts";

/** The packages beside the usual choices of an application that does not use them. */
export interface PackagesReport {
  readonly ledgers: LedgerReport;
  readonly events: EventReport;
  readonly signatures: readonly Row[];
}

export interface PackagesBench {
  readonly plan: PackagesPlan;
  readonly server: BenchServer;
  /** The file `pgledger.sql` of a checkout of pgledger. If undefined, pgledger is left out. */
  readonly pgledger: string | undefined;
  readonly onProgress: (message: string) => void;
  /** The finished parts of an interrupted run. */
  readonly begun: Partial<PackagesReport> | undefined;
  readonly keep: (begun: Partial<PackagesReport>) => void;
}

/** Measures the ledgers, then events, then signatures. With `begun`, skips what the interrupted run has measured. */
export async function measurePackages(bench: PackagesBench): Promise<PackagesReport> {
  const { plan, onProgress, begun, keep } = bench;
  const ledgers = begun?.ledgers ?? (await measureLedgers(bench));
  keep({ ledgers });
  const events = begun?.events ?? (await measureEvents(bench));
  keep({ ledgers, events });
  onProgress("signatures");
  return { ledgers, events, signatures: await measureSignatures({ rounds: plan.rounds, roundMs: plan.roundMs / 4 }) };
}
