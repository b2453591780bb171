/** The rows of a run that match a booking by themselves, and what the runs of a lender have cost. */
export const migration0012: readonly string[] = [
  // A run inserts and deletes these rows in one transaction, see migration 0006 about tables of a run. The key has the order
  // of the bookings, so that a run reads both in the same order.
  `create unlogged table ledger.reconciliation_match (
     lender_id uuid not null,
     run_id uuid not null,
     booking_id uuid not null,
     position integer not null,
     paid_at timestamptz,
     mode text,
     primary key (lender_id, run_id, booking_id)
   )`,

  // A row is written when a run has ended, also if it has failed, in a transaction of its own. So `ended_at`, the start of
  // this transaction, is the end of the run.
  `create table ledger.reconciliation_cost (
     lender_id uuid not null,
     id uuid not null,
     compared bigint not null check (compared >= 0),
     ended_at timestamptz not null default now(),
     primary key (lender_id, id)
   )`,
];
