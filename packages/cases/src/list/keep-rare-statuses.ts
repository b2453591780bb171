import { AFTER_ALL_IDS, BEFORE_ALL_IDS, query, statement, transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { selectEnd } from "./outstanding-by-age.ts";
import { type StatusSetByPayments, STATUSES_SET_BY_PAYMENTS } from "./rare-status.ts";

/** A status of at most this number of current cases becomes rare. */
const RARE_AT = 10_000;
/** A status of more than this number of cases is no longer rare: a search in the order of ids finds a page sooner. */
export const RARE_UP_TO = 20_000;
/**
 * The triggers write the cases of a status from the commit of its `rare_status` row on. A transaction that began earlier
 * may not see the row. All such transactions have ended after this time.
 */
const TRANSACTIONS_END_WITHIN_MS = 1_800_000;

interface RareStatusRow {
  readonly status: StatusSetByPayments;
  readonly since: Date;
  readonly complete: boolean;
}

/**
 * Decides which of `assigned`, `in_progress` and `collected` are rare among the current cases of a lender, and lists
 * their cases in `cases.rare_case`. A run makes a status rare, and the first run after half an hour adds the cases that
 * had the status before. Only then searches use the list. A lender with 20,000 cases or fewer has no rare statuses,
 * because a search reads all its cases soon enough. Any number of processes may call this at the same time.
 *
 * A run reads at most all cases of the lender, by many short queries: seconds for a million cases.
 *
 * @example
 * await keepRareStatuses(em, lenderId, now);
 */
export async function keepRareStatuses(em: EntityManager, lenderId: string, now: Date): Promise<void> {
  const rare: RareStatusRow[] = await query(em, selectRare, [lenderId]);
  for (const { status, complete, since } of rare) {
    const [counted] = await query<{ count: number }>(em, countRare, [lenderId, status]);
    if (counted!.count > RARE_UP_TO) await forget(em, lenderId, status);
    else if (!complete && now.getTime() - since.getTime() >= TRANSACTIONS_END_WITHIN_MS) {
      await fill(em, lenderId, status);
      await query(em, setComplete, [lenderId, status, since]);
    }
  }
  const isListed = new Set(rare.map(({ status }) => status));
  const others = STATUSES_SET_BY_PAYMENTS.filter((status) => !isListed.has(status));
  for (const status of await rareOnes(em, lenderId, others)) await query(em, insertRare, [lenderId, status, now]);
}

/** Returns those of the statuses that at most RARE_AT current cases have. Empty for a lender with few cases. */
async function rareOnes(
  em: EntityManager,
  lenderId: string,
  statuses: readonly StatusSetByPayments[],
): Promise<readonly StatusSetByPayments[]> {
  const counts = new Map<StatusSetByPayments, number>();
  const rare = () => statuses.filter((status) => (counts.get(status) ?? 0) <= RARE_AT);
  for await (const { from, to, isWhole } of ranges(em, lenderId)) {
    if (isWhole || rare().length === 0) return [];
    const rows = await query<{ status: StatusSetByPayments; count: number }>(em, countStatuses, [lenderId, from, to]);
    for (const { status, count } of rows) counts.set(status, (counts.get(status) ?? 0) + count);
  }
  return rare();
}

/** Lists the cases that have the status now. Triggers write the cases that change during the run. */
async function fill(em: EntityManager, lenderId: string, status: StatusSetByPayments): Promise<void> {
  for await (const { from, to } of ranges(em, lenderId)) await query(em, insertCases, [lenderId, from, to, status]);
}

async function forget(em: EntityManager, lenderId: string, status: StatusSetByPayments): Promise<void> {
  await transaction(em, async (tx) => {
    await query(tx, deleteRare, [lenderId, status]);
    await query(tx, deleteCases, [lenderId, status]);
  });
}

/** Yields ranges of ids, after `from` and up to `to`, that together contain all cases of the lender. */
async function* ranges(em: EntityManager, lenderId: string) {
  let from: string | undefined = BEFORE_ALL_IDS;
  while (from !== undefined) {
    const [last]: { readonly id: string }[] = await query(em, selectEnd, [lenderId, from]);
    yield { from, to: last?.id ?? AFTER_ALL_IDS, isWhole: from === BEFORE_ALL_IDS && last === undefined };
    from = last?.id;
  }
}

const selectRare = statement(
  "cases.rare-statuses",
  "select status, since, complete from cases.rare_status where lender_id = $1 order by status",
);

const insertRare = statement(
  "cases.insert-rare-status",
  `insert into cases.rare_status (lender_id, status, since, complete) values ($1, $2, $3::timestamptz, false)
   on conflict do nothing returning status`,
);

/** Compares `since`, because another process may have deleted the row and inserted it again. */
const setComplete = statement(
  "cases.complete-rare-status",
  "update cases.rare_status set complete = true where lender_id = $1 and status = $2 and since = $3::timestamptz",
);

const deleteRare = statement(
  "cases.delete-rare-status",
  "delete from cases.rare_status where lender_id = $1 and status = $2",
);

// Skips the rows that confirmations have locked, because a wait for them could be a deadlock. Such a row may remain: a
// search compares the status of the case.
const deleteCases = statement(
  "cases.delete-rare-cases",
  `delete from cases.rare_case r
   where r.lender_id = $1 and r.status = $2 and r.case_id = any (array(
     select p.case_id from cases.rare_case p where p.lender_id = $1 and p.status = $2 for update skip locked
   ))`,
);

const countRare = statement(
  "cases.count-rare-cases",
  `select count(*)::integer as count from (
     select p.case_id from cases.rare_case p where p.lender_id = $1 and p.status = $2
     order by p.case_id limit (select ${RARE_UP_TO + 1})
   ) i`,
);

// As in outstanding-by-age.ts, the inner ORDER BY with OFFSET makes every plan read the rows by the primary key.
const OF_RANGE = `select p.lender_id, p.id, p.status, p.is_current from cases.collection_case p
  where p.lender_id = $1 and p.id > $2 and p.id <= $3 order by p.id offset 0`;

const countStatuses = statement(
  "cases.count-statuses",
  `select c.status, count(*)::integer as count from (${OF_RANGE}) c
   where c.is_current and c.status in ('assigned', 'in_progress', 'collected') group by c.status`,
);

const insertCases = statement(
  "cases.insert-rare-cases",
  `insert into cases.rare_case (lender_id, status, case_id)
   select c.lender_id, c.status, c.id from (${OF_RANGE}) c where c.is_current and c.status = $4::text
   on conflict do nothing returning case_id`,
);
