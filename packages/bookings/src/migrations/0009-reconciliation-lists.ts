/** Lists of a reconciliation for references that were changed and for days outside its window, and parts of payments. */
export const migration0009: readonly string[] = [
  // Rows of both sides that have no counterpart yet, see migration 0006 about tables of a run.
  `create unlogged table ledger.reconciliation_leftover (
     lender_id uuid not null,
     run_id uuid not null,
     loan text collate "C" not null,
     id uuid not null,
     kind text not null check (kind in ('row', 'payment', 'taken')),
     reference text not null,
     position integer,
     amount_minor bigint not null check (amount_minor > 0),
     reversed_minor bigint not null check (reversed_minor between 0 and amount_minor),
     currency char(3) not null,
     paid_at timestamptz,
     mode text,
     is_loan_known boolean not null,
     paired_with uuid,
     primary key (lender_id, run_id, loan, id)
   )`,

  `alter table ledger.reconciliation_difference
     add column booked_reference text,
     drop constraint reconciliation_difference_list_check,
     drop constraint reconciliation_difference_check2`,
  `alter table ledger.reconciliation_difference add constraint reconciliation_difference_lists_check check (
     list in ('onlyYours', 'onlyOurs', 'referenceDiffers', 'amountDiffers', 'onOtherLoan', 'otherDay', 'outsideWindow',
              'reversed', 'rejected')
     and (list in ('rejected', 'onlyYours', 'otherDay', 'outsideWindow')
          or (booking_id is not null and booked_minor is not null))) not valid`,

  // Only parts of payments are in this index, so other confirmations do not write it.
  `create index if not exists payment_booking_part_of on ledger.payment_booking (lender_id, source_loan_number, part_of)
     where part_of is not null`,
];
