import { type EntityManager, query, statement } from "@collections/database";

/** What the stored runs that a lender requested have cost. */
export interface ReconciliationCosts {
  /** Runs that ended in the last minute, the earliest first. */
  readonly recent: readonly { readonly compared: number; readonly agoMs: number }[];
  /** The number of stored differences of all runs. Each run counts as 100 differences more. */
  readonly stored: number;
}

/** A stored run takes about as much space as this number of differences. */
const RUN_AS_DIFFERENCES = 100;

/**
 * Returns the costs of the runs that a lender requested itself. Runs with a file, which an operator made, do not count.
 *
 * @example
 * const { stored } = await reconciliationCosts(em, lenderId);
 * if (stored > 1_000_000) throw new Error("The lender has stored too many differences.");
 */
export async function reconciliationCosts(em: EntityManager, lenderId: string): Promise<ReconciliationCosts> {
  const [recent, [sum]] = await Promise.all([
    query<{ compared: bigint; agoMs: number }>(em, selectRecent, [lenderId]),
    query<{ stored: bigint }>(em, selectStored, [lenderId, RUN_AS_DIFFERENCES]),
  ]);
  return {
    recent: recent.map(({ compared, agoMs }) => ({ compared: Number(compared), agoMs })),
    stored: Number(sum!.stored),
  };
}

const selectRecent = statement(
  "ledger.recent-reconciliations",
  `select r.compared, (extract(epoch from now() - r.recorded_at) * 1000)::float8 as "agoMs"
   from ledger.reconciliation_run r
   where r.lender_id = $1 and r.file_name is null and r.recorded_at > now() - interval '1 minute'
   order by r.recorded_at`,
);

const selectStored = statement(
  "ledger.stored-reconciliations",
  `select coalesce(sum(r.stored + $2::bigint), 0)::bigint as stored
   from ledger.reconciliation_run r where r.lender_id = $1 and r.file_name is null`,
);
