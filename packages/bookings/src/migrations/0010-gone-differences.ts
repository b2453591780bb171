/** The differences of an earlier run that a run no longer found, and the table in which both runs are merged. */
export const migration0010: readonly string[] = [
  // A run inserts and deletes these rows in one transaction, as those of ledger.reconciliation_row. 'found' comes before
  // 'previous' in the order of the key.
  `create unlogged table ledger.reconciliation_mark (
     lender_id uuid not null,
     run_id uuid not null,
     reference text collate "C" not null,
     loan text collate "C" not null,
     kind text collate "C" not null check (kind in ('found', 'previous')),
     place integer not null,
     list text not null,
     primary key (lender_id, run_id, reference, loan, kind, place)
   )`,

  `create table ledger.reconciliation_gone (
     lender_id uuid not null,
     run_id uuid not null,
     place integer not null check (place >= 0),
     list text not null,
     loan text not null,
     reference text not null,
     primary key (lender_id, run_id, place)
   )`,

  // A run is stored after its differences, when its totals are known, so that it is never updated.
  `alter table ledger.reconciliation_difference drop constraint reconciliation_difference_lender_id_run_id_fkey`,
];
