import { defineEntity, p } from "@mikro-orm/core";
import { BEFORE_ALL_IDS, type EntityManager, query, statement, transaction } from "@collections/database";

/** The tables that are partitioned by their id. */
export const PARTITIONED = ["event", "attempt"] as const;
export type Partitioned = (typeof PARTITIONED)[number];

/** How far retention has come in each partitioned table. Only functions of the schema's owner write it. */
export const RetentionEntity = defineEntity({
  name: "Retention",
  schema: "webhooks",
  tableName: "retention",
  properties: {
    relation: p.text().$type<Partitioned>().primary(),
    /** Older rows are let go: an attempt at once, an event as soon as its delivery is gone. */
    keptFrom: p.uuid(),
    /** Partitions below are dropped; behind `keptFrom` while that is still to be done. */
    droppedTo: p.uuid(),
  },
});

/** The last number of each loan among the events before `keptFrom`: what is kept continues from it. */
export const LetGoEntity = defineEntity({
  name: "LetGo",
  schema: "webhooks",
  tableName: "let_go",
  properties: {
    lenderId: p.uuid().primary(),
    loan: p.text().primary(),
    sequence: p.bigint(),
  },
});

/** Deliveries that one statement looks at. */
const PAGE = 5_000;
/** A week of events is read whole to note where each loan continues: no request waits for it. */
const LONG_STATEMENT_MS = 600_000;

/**
 * Lets go what is older than `keepDays` (at least 32), in whole weeks: attempts; and events whose delivery was settled
 * 30 days ago, with that delivery. An event that still waits is kept, whatever its age. contract: Retry and suspension
 *
 * @throws with SQLSTATE 55P03 when somebody held a table for too long: what is left is done by the next call
 */
export async function letGo(em: EntityManager, { keepDays }: { keepDays: number }): Promise<RetentionStep> {
  let [forgotten, dropped] = [0, 0];
  for (const relation of PARTITIONED) {
    const keptFrom = await advance(em, relation, keepDays);
    if (!(await isDropPending(em, relation))) continue;
    if (relation === "event") forgotten += await forgetSettled(em, keptFrom);
    dropped += await dropPartitions(em, relation);
  }
  return { forgotten, dropped };
}

export interface RetentionStep {
  /** Deliveries that were deleted. */
  readonly forgotten: number;
  /** Partitions that were dropped. */
  readonly dropped: number;
}

async function advance(em: EntityManager, relation: Partitioned, keepDays: number): Promise<string> {
  const [row] = await patiently<{ keptFrom: string }>(em, callAdvance, [relation, keepDays]);
  return row!.keptFrom;
}

async function isDropPending(em: EntityManager, relation: Partitioned): Promise<boolean> {
  const [row] = await query<{ isPending: boolean }>(em, selectPending, [relation]);
  return row!.isPending;
}

async function dropPartitions(em: EntityManager, relation: Partitioned): Promise<number> {
  const [row] = await patiently<{ dropped: number }>(em, callDropPartitions, [relation]);
  return row!.dropped;
}

/** Deletes settled deliveries page by page, each page in a transaction of its own: replays want the same rows. */
async function forgetSettled(em: EntityManager, keptFrom: string): Promise<number> {
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

async function patiently<Row>(
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

// The conditions are repeated on the row itself: a replay may have made it wait again in the meantime.
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
