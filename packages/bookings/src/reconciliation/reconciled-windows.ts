import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { ReconciliationWindow } from "./comparison.ts";

/** A window that a lender's payments were compared in, with the result of the latest run. */
export interface ReconciledWindow extends ReconciliationWindow {
  readonly runId: string;
  /** The number of differences that the latest run has found. */
  readonly differences: number;
}

/**
 * Returns the windows of reconciliations that overlap a period, each with its latest run, in the order of time. A window is
 * at most 32 days long.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const open = (await reconciledWindows(em, lenderId, day)).filter(({ differences }) => differences > 0);
 */
export async function reconciledWindows(
  em: EntityManager,
  lenderId: string,
  { from, to }: ReconciliationWindow,
): Promise<ReconciledWindow[]> {
  return query(em, selectWindows, [lenderId, from.toISOString(), to.toISOString()]);
}

const selectWindows = statement(
  "ledger.reconciled-windows",
  `select distinct on (r.window_from, r.window_to) r.window_from as "from", r.window_to as "to", r.id as "runId",
     (select coalesce(sum(l.value::bigint), 0)::integer from jsonb_each_text(r.totals -> 'lists') l) as differences
   from ledger.reconciliation_run r
   where r.lender_id = $1 and r.window_from > $2::timestamptz - interval '33 days' and r.window_from < $3::timestamptz
     and r.window_to > $2::timestamptz
   order by r.window_from, r.window_to, r.started_at desc, r.id desc`,
);
