import { type EntityManager, query, sqlState, statement } from "@collections/database";
import { firstIdAt } from "./id-time.ts";
import { letGo, PARTITIONED, type Partitioned, type RetentionStep } from "./retention.ts";

const WEEKS_AHEAD = 4;
/** The contract lets a parked event be replayed for 30 days, after some 31 hours of ladder. */
const DEFAULT_KEEP_DAYS = 35;
/** Somebody held a table, or two waited for each other. */
const HELD_UP = new Set(["55P03", "40P01"]);

/** What a call of `keepPartitions` has made and let go. */
export interface PartitionsKept {
  /** Partitions that were made. */
  readonly made: number;
  /** Partitions that were dropped. */
  readonly dropped: number;
  /** Deliveries that were deleted. */
  readonly forgotten: number;
  /** Whether something is left for the next call, because others used the tables just then. */
  readonly isHeldUp: boolean;
}

/** A partitioned table, for who watches over the disk. */
export interface PartitionState {
  readonly relation: "event" | "attempt";
  readonly partitions: number;
  /** Partitions are there for everything before. Far ahead unless the routine fails. */
  readonly madeTo: Date;
  /** Rows that came later than that, and lie in the default partition until theirs is made. */
  readonly unplaced: number;
  /** Where retention begins; null until anything was let go. */
  readonly keptFrom: Date | null;
  /** Whether partitions before `keptFrom` are still there. */
  readonly isDropPending: boolean;
}

/**
 * Makes the partitions of the coming weeks and drops what is older than `keepDays` (at least 32, by default 35). Meant
 * for every hour and for any number of processes at once; time is the database's. It never holds up the others for
 * long: when they use the tables it leaves the rest for the next call.
 *
 * @example
 * setInterval(() => keepPartitions(database.em(), { keepDays: 90 }).catch(console.error), 3_600_000);
 */
export async function keepPartitions(
  em: EntityManager,
  { keepDays = DEFAULT_KEEP_DAYS }: { keepDays?: number } = {},
): Promise<PartitionsKept> {
  let made = 0;
  let step: RetentionStep = { forgotten: 0, dropped: 0 };
  try {
    for (const relation of PARTITIONED) made += await makePartitions(em, relation);
    step = await letGo(em, { keepDays });
  } catch (error) {
    if (!HELD_UP.has(sqlState(error) ?? "")) throw error;
    return { ...step, made, isHeldUp: true };
  }
  return { ...step, made, isHeldUp: false };
}

/**
 * How far partitions are made and dropped, for each partitioned table.
 *
 * @example
 * const states = await partitionStates(em);
 * const full = states.filter(({ unplaced }) => unplaced > 0).map(({ relation }) => relation);
 */
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

// Two queries, because Citus refuses to join a table of lenders with a table that is not distributed.
const countUnplaced = statement(
  "webhooks.count-unplaced",
  `select (select count(*) from webhooks.event where id >= $1)::int as event,
     (select count(*) from webhooks.attempt where id >= $2)::int as attempt`,
);
