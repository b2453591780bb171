import { type Database, every, InvalidDatabaseOptionError, type RoutineLog } from "@collections/database";
import type { Ledger } from "./define-ledger.ts";

/** Options of `startLedger`. */
export interface LedgerDutyOptions {
  /** Opened with the schemas of the ledgers. */
  readonly database: Database;
  /** The charts, or other ledgers, whose chains are extended. */
  readonly ledgers: readonly Pick<Ledger, "extendChains">[];
  /** How long to wait between two rounds, in milliseconds: at most 600,000, because `verify` expects it. Default: 60,000. */
  readonly everyMs?: number;
  /** Receives failed rounds. A pino logger fits. Default: one line of JSON on stderr. */
  readonly log?: RoutineLog;
}

/** The duties of ledgers while they run in one process. */
export interface LedgerDuties {
  /** Starts no further round, and resolves when the current round has ended. */
  stop(): Promise<void>;
}

const MAX_EVERY_MS = 600_000;

/**
 * Does what ledgers need in the background: extends the hash chain of each book that has new rows, and takes snapshots of
 * balances. Without it `verify` reports rows that are in no chain after 15 minutes, and balances read ever more transfers.
 * Any number of processes may do this for the same database. A failed round is logged, and the next one makes up for it.
 * @throws InvalidDatabaseOptionError
 *
 * @example
 * const duties = startLedger({ database, ledgers: [invoicing] });
 * process.once("SIGTERM", () => void duties.stop().then(() => database.close()));
 */
export function startLedger({ database, ledgers, everyMs = 60_000, log = errorLog }: LedgerDutyOptions): LedgerDuties {
  if (!Number.isSafeInteger(everyMs) || everyMs < 1 || everyMs > MAX_EVERY_MS) {
    const expected = `expected a whole number of milliseconds from 1 to ${MAX_EVERY_MS}`;
    throw new InvalidDatabaseOptionError("startLedger", "everyMs", `is ${String(everyMs)}; ${expected}.`);
  }
  const routines = ledgers.map((ledger) =>
    every(everyMs, log, "extend the hash chains of a ledger", async () => {
      await ledger.extendChains(database.em());
    }),
  );
  return {
    async stop() {
      await Promise.all(routines.map((routine) => routine.stop()));
    },
  };
}

const errorLog: RoutineLog = {
  warn(facts, message) {
    const { error, ...others } = facts as { error?: unknown };
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${JSON.stringify({ level: "warn", message, ...others, error: text })}\n`);
  },
};
