const PRUNED_AFTER = "interval '90 days'";

/**
 * Makes stored reconciliations append-only. A row may be deleted 90 days after it was recorded, and only the function
 * `ledger.prune_reconciliation` has the right to delete it.
 */
export const migration0011: readonly string[] = [
  // `recorded_at` is the start of the transaction that stores the run: Citus allows no volatile default. `compared` and
  // `stored` count what the run cost.
  `alter table ledger.reconciliation_run
     add column digest bytea,
     add column compared bigint not null default 0,
     add column stored bigint not null default 0,
     add column recorded_at timestamptz not null default now()`,

  `create function ledger.refuse_deletion_of_reconciliation() returns trigger language plpgsql as $$
   declare
     recorded timestamptz;
   begin
     if tg_table_name = 'reconciliation_run' then
       recorded := old.recorded_at;
     else
       select r.recorded_at into recorded from ledger.reconciliation_run r
       where r.lender_id = old.lender_id and r.id = old.run_id;
     end if;
     if recorded < now() - ${PRUNED_AFTER} then
       return old;
     end if;
     raise exception '%.% is append-only: % is refused', tg_table_schema, tg_table_name, tg_op
       using errcode = 'restrict_violation', hint = 'Rows older than 90 days are deleted by ledger.prune_reconciliation.';
   end
   $$`,
  ...["run", "difference", "gone"].flatMap((part) => [
    `create trigger append_only before update or truncate on ledger.reconciliation_${part}
     for each statement execute function ledger.refuse_change()`,
    `create trigger kept before delete on ledger.reconciliation_${part}
     for each row execute function ledger.refuse_deletion_of_reconciliation()`,
  ]),

  // Deletes at most `most` differences of a run, and the run itself after its last difference. Returns whether the run is
  // deleted. Runs with the rights of the role that migrates, so it has settings of its own.
  `create function ledger.prune_reconciliation(lender uuid, run uuid, most integer)
   returns boolean language plpgsql security definer
   set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '500ms' as $$
   declare
     pruned bigint;
   begin
     if not exists (
       select 1 from ledger.reconciliation_run r
       where r.lender_id = lender and r.id = run and r.recorded_at < now() - ${PRUNED_AFTER}
     ) then
       return false;
     end if;
     delete from ledger.reconciliation_difference d
     where d.lender_id = lender and d.run_id = run and d.place = any (array(
       select p.place from ledger.reconciliation_difference p
       where p.lender_id = lender and p.run_id = run order by p.place limit most));
     get diagnostics pruned = row_count;
     if pruned = most then
       return false;
     end if;
     delete from ledger.reconciliation_gone g where g.lender_id = lender and g.run_id = run;
     delete from ledger.reconciliation_run r where r.lender_id = lender and r.id = run;
     return true;
   end
   $$`,
];
