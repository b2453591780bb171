/** Snapshots of balances, and the indexes for balances, account statements and pages of transfers. */
export const balanceMigration: readonly string[] = [
  // The transaction that inserted the row; 0 for the rows that were there before this migration. The ALTER waits for every
  // transaction that has inserted a row, so each row with 0 is final.
  `alter table general_ledger.transfer add column written_in xid8 not null default '0'`,
  `alter table general_ledger.transfer alter column written_in set default pg_current_xact_id()`,
  `create index transfer_debited on general_ledger.transfer (lender_id, debit_account, written_in)`,
  `create index transfer_credited on general_ledger.transfer (lender_id, credit_account, written_in)`,
  `create index transfer_debit_days on general_ledger.transfer (lender_id, debit_account, effective_at, id)`,
  `create index transfer_credit_days on general_ledger.transfer (lender_id, credit_account, effective_at, id)`,
  `create index transfer_subjects on general_ledger.transfer (lender_id, subject_id, id)`,
  `drop index general_ledger.transfer_debit`,
  `drop index general_ledger.transfer_credit`,
  `drop index general_ledger.transfer_subject`,

  // Numbers of transactions mean something only on the server that gave them out. A snapshot from another server, such as
  // one that pg_restore has copied, is ignored.
  `create table general_ledger.balance_snapshot (
     lender_id uuid not null,
     account text not null,
     server_id bigint not null,
     covers_before xid8 not null,
     debit_minor numeric not null,
     credit_minor numeric not null,
     taken_at timestamptz not null,
     primary key (lender_id, account)
   )`,
];
