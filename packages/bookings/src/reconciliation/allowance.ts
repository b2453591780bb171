import { type EntityManager, query, statement, tableOf, transaction } from "@collections/database";
import { defineEntity, p } from "@mikro-orm/core";

/** A run that a lender requested and that has ended in the last minutes, whether it was stored or has failed. */
export const ReconciliationCostEntity = defineEntity({
  name: "ReconciliationCost",
  schema: "ledger",
  tableName: "reconciliation_cost",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    /** The number of rows and bookings that the run has read and compared until it ended. */
    compared: p.bigint(),
    endedAt: p.datetime().columnType("timestamptz"),
  },
});

/** What a run has cost. `id` is a new id: a request that is repeated after a failure makes a further run. */
export interface ReconciliationCost {
  readonly lenderId: string;
  readonly id: string;
  readonly compared: number;
}

/** What the stored runs that a lender requested have cost. */
export interface ReconciliationCosts {
  /** Runs that ended in the last minute, the earliest first. Runs that failed are among them. */
  readonly recent: readonly { readonly compared: number; readonly agoMs: number }[];
  /** The number of stored differences of all runs. Each run counts as 100 differences more. */
  readonly stored: number;
}

/** A stored run takes about as much space as this number of differences. */
const RUN_AS_DIFFERENCES = 100;

/**
 * Records what a run has cost that a lender requested itself. Call it when the run has ended, also if it has failed. Opens a
 * transaction of its own, because that of a failed run stores nothing. Deletes the lender's costs of earlier minutes.
 *
 * @example
 * await recordReconciliationCost(em, { lenderId, id: runId, compared: 20_000 });
 */
export async function recordReconciliationCost(em: EntityManager, cost: ReconciliationCost): Promise<void> {
  const { lenderId, id, compared } = cost;
  await transaction(em, async (tx) => {
    await query(tx, deleteEarlier, [lenderId]);
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
  `delete from ${table.name} where lender_id = $1 and ended_at < now() - interval '1 minute'`,
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
