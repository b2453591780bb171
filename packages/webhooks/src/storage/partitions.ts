import { type EntityManager, firstIdAt, query, sqlState, statement } from "@collections/database";
import { applyRetention, PARTITIONED, type Partitioned, type RetentionResult } from "./retention.ts";

const WEEKS_AHEAD = 4;
/** The contract lets lenders replay a parked event for 30 days, and the ladder takes about 31 hours before that. */
const DEFAULT_KEEP_DAYS = 35;
/** The SQLSTATEs of a table lock that another session held for too long, and of a deadlock. */
const HELD_UP = new Set(["55P03", "40P01"]);

/** The result of a call of `maintainPartitions`. */
export interface PartitionChanges {
  /** The number of created partitions. */
  readonly made: number;
  /** The number of dropped partitions. */
  readonly dropped: number;
  /** The number of deleted deliveries. */
  readonly forgotten: number;
  /** Whether the call stopped early because other sessions used the tables. The next call does the rest. */
  readonly isHeldUp: boolean;
}

/** The partitions of a table. */
export interface PartitionState {
  readonly relation: "event" | "attempt";
  readonly partitions: number;
  /** Rows before this time have a partition. The time is weeks in the future, unless the routine fails. */
  readonly madeTo: Date;
  /** The number of rows after `madeTo`. They are in the default partition until their own partition is created. */
  readonly unplaced: number;
  /** Rows before this time are deleted. Null if no rows have been deleted yet. */
  readonly keptFrom: Date | null;
  /** Whether partitions before `keptFrom` still exist. */
  readonly isDropPending: boolean;
}

/**
 * Creates the partitions of the coming weeks, and drops partitions older than `keepDays` (at least 32, by default 35).
 * Call it every hour, in any number of processes. It uses the database's clock. If other sessions use the tables, the
 * call soon stops, so that it does not block them for long. The next call does the rest.
 */
export async function maintainPartitions(
  em: EntityManager,
  { keepDays = DEFAULT_KEEP_DAYS }: { keepDays?: number } = {},
): Promise<PartitionChanges> {
  let made = 0;
  let step: RetentionResult = { forgotten: 0, dropped: 0 };
  try {
    for (const relation of PARTITIONED) made += await makePartitions(em, relation);
    step = await applyRetention(em, { keepDays });
  } catch (error) {
    if (!HELD_UP.has(sqlState(error) ?? "")) throw error;
    return { ...step, made, isHeldUp: true };
  }
  return { ...step, made, isHeldUp: false };
}

/** Returns for each partitioned table how far its partitions are created and dropped. */
export async function partitionStates(em: EntityManager): Promise<PartitionState[]> {
  const states = await query<Omit<PartitionState, "unplaced">>(em, selectStates, []);
  const madeTo = states.map((state) => firstIdAt(state.madeTo));
  const [unplaced] = await query<Record<Partitioned, number>>(em, countUnplaced, madeTo);
  return states.map((state) => ({ ...state, unplaced: unplaced![state.relation] }));
}

async function makePartitions(em: EntityManager, relation: Partitioned): Promise<number> {
  const [row] = await query<{ made: number }>(em, callMakePartitions, [relation, WEEKS_AHEAD]);
  return row!.made;
}

const callMakePartitions = statement("webhooks.make-partitions", `select webhooks.make_partitions($1, $2) as made`);

const selectStates = statement(
  "webhooks.partition-states",
  `select r.relation, p.partitions, webhooks.id_time(p.made_to) as "madeTo",
     case when r.kept_from > webhooks.first_id('epoch') then webhooks.id_time(r.kept_from) end as "keptFrom",
     r.dropped_to < r.kept_from as "isDropPending"
   from webhooks.retention r
   cross join lateral (
     select count(*)::int as partitions, (array_agg(upper order by upper desc))[1] as made_to
     from webhooks.partitions_of(r.relation)
   ) p
   order by r.relation desc`,
);

// A separate query, because Citus refuses to join a table of lenders with a table that is not distributed.
const countUnplaced = statement(
  "webhooks.count-unplaced",
  `select (select count(*) from webhooks.event where id >= $1)::int as event,
     (select count(*) from webhooks.attempt where id >= $2)::int as attempt`,
);
