import { defineTable, BEFORE_ALL_IDS, type EntityManager, query, statement, transaction } from "@collections/database";
import { forgetWithoutEndpoint } from "./event-without-endpoint.ts";

/** The tables that are partitioned by their id. */
export const PARTITIONED = ["event", "attempt"] as const;
export type Partitioned = (typeof PARTITIONED)[number];

/**
 * The id up to which retention has deleted rows, for each partitioned table. Only functions of the schema's owner write
 * it.
 */
interface RetentionRow {
  relation: Partitioned;
  /** Rows with a lower id may be deleted: attempts immediately, and each event when its delivery is deleted. */
  keptFrom: string;
  /** Partitions below this id are dropped. Lower than `keptFrom` while there are partitions left to drop. */
  droppedTo: string;
}

export const retentionTable = defineTable<RetentionRow>("webhooks.retention", {
  relation: "text",
  keptFrom: "uuid",
  droppedTo: "uuid",
});

/** The last sequence number among a loan's deleted events. The loan's remaining events continue from it. */
interface LetGoRow {
  lenderId: string;
  loan: string;
  sequence: bigint;
}

export const letGoTable = defineTable<LetGoRow>("webhooks.let_go", {
  lenderId: "uuid",
  loan: "text",
  sequence: "bigint",
});

/** The maximum number of deliveries that one query reads. */
const PAGE = 5_000;
/** One query reads a whole week of events, to note the last number of each loan. No request waits for it. */
const LONG_STATEMENT_MS = 600_000;

/**
 * Deletes attempts that are older than `keepDays` (at least 32), in whole weeks. Deletes events of the same age,
 * together with their deliveries, if the delivery was settled more than 30 days ago. An event that still waits is kept,
 * whatever its age. An event without a delivery is deleted.
 * contract: Retry and suspension
 *
 * @throws with SQLSTATE 55P03 if another session locks a table for too long. The next call does the rest.
 */
export async function applyRetention(em: EntityManager, { keepDays }: { keepDays: number }): Promise<RetentionResult> {
  let [forgotten, dropped] = [0, 0];
  for (const relation of PARTITIONED) {
    const keptFrom = await advanceRetention(em, relation, keepDays);
    if (!(await isDropPending(em, relation))) continue;
    if (relation === "event") {
      forgotten += await deleteSettledDeliveries(em, keptFrom);
      await forgetWithoutEndpoint(em, keptFrom);
    }
    dropped += await dropPartitions(em, relation);
  }
  return { forgotten, dropped };
}

export interface RetentionResult {
  /** The number of deleted deliveries. */
  readonly forgotten: number;
  /** The number of dropped partitions. */
  readonly dropped: number;
}

async function advanceRetention(em: EntityManager, relation: Partitioned, keepDays: number): Promise<string> {
  const [row] = await withLongTimeout<{ keptFrom: string }>(em, callAdvance, [relation, keepDays]);
  return row!.keptFrom;
}

async function isDropPending(em: EntityManager, relation: Partitioned): Promise<boolean> {
  const [row] = await query<{ isPending: boolean }>(em, selectPending, [relation]);
  return row!.isPending;
}

async function dropPartitions(em: EntityManager, relation: Partitioned): Promise<number> {
  const [row] = await withLongTimeout<{ dropped: number }>(em, callDropPartitions, [relation]);
  return row!.dropped;
}

/** Deletes settled deliveries page by page. Each page has its own transaction, because replays lock the same rows. */
async function deleteSettledDeliveries(em: EntityManager, keptFrom: string): Promise<number> {
  let total = 0;
  for (const { lenderId } of await query<{ lenderId: string }>(em, selectLenders, [])) {
    let after: string | null = BEFORE_ALL_IDS;
    while (after !== null) {
      const page: { forgotten: number; last: string | null }[] = await query(em, deleteSettled, [
        lenderId,
        after,
        keptFrom,
        PAGE,
      ]);
      total += page[0]!.forgotten;
      after = page[0]!.last;
    }
  }
  return total;
}

async function withLongTimeout<Row>(
  em: EntityManager,
  call: ReturnType<typeof statement>,
  values: readonly unknown[],
): Promise<Row[]> {
  return transaction(em, async (tx) => {
    await query(tx, allowLongStatements, [String(LONG_STATEMENT_MS)]);
    return query<Row>(tx, call, values, { timeoutMs: LONG_STATEMENT_MS });
  });
}

const callAdvance = statement("webhooks.advance-retention", `select webhooks.advance_retention($1, $2) as "keptFrom"`);

const callDropPartitions = statement("webhooks.drop-partitions", `select webhooks.drop_partitions($1) as dropped`);

const allowLongStatements = statement(
  "webhooks.allow-long-statements",
  `select set_config('statement_timeout', $1, true)`,
);

const selectPending = statement(
  "webhooks.is-drop-pending",
  `select dropped_to < kept_from as "isPending" from webhooks.retention where relation = $1`,
);

const selectLenders = statement(
  "webhooks.lenders-with-endpoint",
  `select lender_id as "lenderId" from webhooks.endpoint`,
);

// The DELETE repeats the conditions, because a replay may have made the delivery wait again in the meantime.
const deleteSettled = statement(
  "webhooks.forget-settled",
  `with page as materialized (
     select id, state in ('delivered', 'parked') and settled_at < now() - interval '30 days' as is_over
     from webhooks.delivery
     where lender_id = $1 and id > $2 and id < $3
     order by id
     limit $4
   ), gone as (
     delete from webhooks.delivery d
     where d.lender_id = $1 and d.id = any (array(select id from page where is_over))
       and d.state in ('delivered', 'parked') and d.settled_at < now() - interval '30 days'
     returning d.id
   )
   select (select count(*)::int from gone) as forgotten, (select id from page order by id desc limit 1) as last`,
);
