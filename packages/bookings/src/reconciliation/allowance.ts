import { query, statement, transaction } from "@collections/database";
import { type EntityManager, tableOf } from "@collections/entities";
import { defineEntity, p } from "@mikro-orm/core";

/** The cost of a run that a lender has requested. Runs that failed have a cost, too. Old costs are deleted. */
export const ReconciliationCostEntity = defineEntity({
  name: "ReconciliationCost",
  schema: "ledger",
  tableName: "reconciliation_cost",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    /** The number of rows and bookings that the run has read and compared; an estimate until the run has ended. */
    compared: p.bigint(),
    /** When the run ended, or when it began if it has not ended. */
    endedAt: p.datetime().columnType("timestamptz"),
  },
});

/** The cost of one attempt at a run. Each attempt has an `id` of its own, so a repeated request counts again. */
export interface ReconciliationCost {
  readonly lenderId: string;
  readonly id: string;
  readonly compared: number;
}

/** The costs of the runs that a lender has requested. */
export interface ReconciliationCosts {
  /**
   * Attempts that ended in the last minute, the earliest first. Attempts that failed are among them. An attempt that was
   * killed counts from its beginning.
   */
  readonly recent: readonly { readonly compared: number; readonly agoMs: number }[];
  /** The number of stored differences of all runs. Each run counts as 100 differences more. */
  readonly stored: number;
}

/** A stored run takes about as much space as this number of differences. */
const RUN_AS_DIFFERENCES = 100;

/**
 * Records the cost of an attempt at a run that a lender has requested. Call it when the attempt begins, with an estimate, and
 * again when the attempt has ended, also if it has failed: the second call replaces the first. Opens a transaction of its
 * own, because the transaction of a failed run stores nothing. Deletes the lender's costs of earlier minutes.
 *
 * @example
 * await recordReconciliationCost(em, { lenderId, id: runId, compared: 10_000 });
 * await recordReconciliationCost(em, { lenderId, id: runId, compared: 20_000 });
 */
export async function recordReconciliationCost(em: EntityManager, cost: ReconciliationCost): Promise<void> {
  const { lenderId, id, compared } = cost;
  await transaction(em, async (tx) => {
    await query(tx, deleteEarlier, [lenderId, id]);
    await query(tx, insertCost, [lenderId, id, compared]);
  });
}

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

const table = tableOf(ReconciliationCostEntity);

const deleteEarlier = statement(
  "ledger.delete-reconciliation-costs",
  `delete from ${table.name} where lender_id = $1 and (id = $2 or ended_at < now() - interval '1 minute')`,
);

const insertCost = statement(
  "ledger.record-reconciliation-cost",
  `insert into ${table.name} (lender_id, id, compared) values ($1, $2, $3)`,
);

const selectRecent = statement(
  "ledger.recent-reconciliations",
  `select c.compared, (extract(epoch from now() - c.ended_at) * 1000)::float8 as "agoMs"
   from ${table.name} c
   where c.lender_id = $1 and c.ended_at > now() - interval '1 minute'
   order by c.ended_at`,
);

const selectStored = statement(
  "ledger.stored-reconciliations",
  `select coalesce(sum(r.stored + $2::bigint), 0)::bigint as stored
   from ledger.reconciliation_run r where r.lender_id = $1 and r.file_name is null`,
);
