/** Runs that compare a lender's own list of payments with the bookings, and the differences that they found. */
export const migration0006: readonly string[] = [
  `create table ledger.reconciliation_run (
     lender_id uuid not null,
     id uuid not null,
     window_from timestamptz not null,
     window_to timestamptz not null,
     requested_by text not null,
     file_name text,
     totals jsonb not null,
     previous_run_id uuid,
     started_at timestamptz not null,
     primary key (lender_id, id),
     check (window_from < window_to)
   )`,
  "create index on ledger.reconciliation_run (lender_id, window_from, window_to, started_at)",

  // A run inserts and deletes these rows in one transaction. After a crash of the server the table may be empty, so it
  // needs no write-ahead log. The order of its key is the order of the bytes, which is the same on every server.
  `create unlogged table ledger.reconciliation_row (
     lender_id uuid not null,
     run_id uuid not null,
     reference text collate "C" not null,
     loan text collate "C" not null,
     id uuid not null,
     position integer,
     amount_minor bigint not null check (amount_minor > 0),
     reversed_minor bigint not null check (reversed_minor between 0 and amount_minor),
     currency char(3) not null,
     paid_at timestamptz,
     mode text,
     is_loan_known boolean not null,
     primary key (lender_id, run_id, reference, loan, id)
   )`,

  `create table ledger.reconciliation_difference (
     lender_id uuid not null,
     run_id uuid not null,
     place integer not null check (place >= 0),
     list text not null check (list in ('onlyYours', 'onlyOurs', 'amountDiffers', 'onOtherLoan', 'otherDay', 'reversed',
                                        'rejected')),
     loan text,
     reference text,
     position integer,
     row_minor bigint,
     row_currency char(3),
     row_paid_at timestamptz,
     row_mode text,
     is_loan_known boolean not null,
     booking_id uuid,
     booked_loan text,
     booked_minor bigint,
     reversed_minor bigint,
     booked_currency char(3),
     booked_paid_at timestamptz,
     faults jsonb not null,
     primary key (lender_id, run_id, place),
     foreign key (lender_id, run_id) references ledger.reconciliation_run (lender_id, id),
     check (list = 'rejected' or (loan is not null and reference is not null)),
     check (list = 'rejected' or list = 'onlyOurs' or (position is not null and row_minor is not null)),
     check (list in ('rejected', 'onlyYours') or (booking_id is not null and booked_minor is not null))
   )`,
];
