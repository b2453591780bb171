/** Holds the minimums of accounts. A chart with minimums creates the triggers that call `hold_minimums`. */
export const minimumMigration: readonly string[] = [
  // The lock makes transactions that take from one account wait for each other. The sums then have what those took that
  // have committed. A transaction with one snapshot for all its queries would not see it. What others add is counted once
  // it is committed, so additions need no lock.
  `create function general_ledger.require_minimum(
     of_book uuid, of_account text, normal_side text, minimum_minor bigint
   ) returns void language plpgsql as $$
   declare
     debits numeric;
     credits numeric;
     balance numeric;
     held numeric;
   begin
     if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
       raise exception 'a transfer from an account with a minimum needs the isolation level READ COMMITTED, not %',
         upper(current_setting('transaction_isolation')) using errcode = 'feature_not_supported';
     end if;
     perform pg_advisory_xact_lock(hashtextextended('general_ledger.account ' || of_book || ' ' || of_account, 0));
     select
       coalesce(s.debit_minor, 0) + (select coalesce(sum(t.amount_minor), 0) from general_ledger.transfer t
         where t.lender_id = of_book and t.debit_account = of_account
           and t.written_in >= coalesce(s.covers_before, '0'::xid8)),
       coalesce(s.credit_minor, 0) + (select coalesce(sum(t.amount_minor), 0) from general_ledger.transfer t
         where t.lender_id = of_book and t.credit_account = of_account
           and t.written_in >= coalesce(s.covers_before, '0'::xid8))
     into debits, credits
     from (select 1) one
     left join general_ledger.balance_snapshot s on s.lender_id = of_book and s.account = of_account
       and s.server_id = (select system_identifier from pg_control_system());
     select coalesce(sum(h.amount_minor), 0) into held
     from general_ledger.hold h
     where h.lender_id = of_book and h.expires_at > clock_timestamp()
       and (normal_side = 'credit' and h.debit_account = of_account
         or normal_side = 'debit' and h.credit_account = of_account)
       and not exists (select from general_ledger.hold_end e where e.lender_id = of_book and e.hold_id = h.id);
     balance := case normal_side when 'debit' then debits - credits else credits - debits end;
     if balance - held < minimum_minor then
       raise exception 'the account % would have % minor units%, and its minimum is %', of_account, balance - held,
         case when held > 0 then ' beside the ' || held || ' that are held' else '' end, minimum_minor
         using errcode = 'check_violation', constraint = 'account_minimum', detail = of_account,
           column = case normal_side when 'credit' then 'debit_account' else 'credit_account' end;
     end if;
   end
   $$`,
  `create function general_ledger.hold_minimums() returns trigger language plpgsql as $$
   begin
     perform general_ledger.require_minimum(taken.book, taken.account, taken.normal_side, taken.minimum_minor)
     from (
       select distinct p.lender_id as book, side.account, tg_argv[i + 1] as normal_side,
         tg_argv[i + 2]::bigint as minimum_minor
       from posted p
       cross join generate_series(0, tg_nargs - 1, 3) i
       cross join lateral (
         select case tg_argv[i + 1] when 'credit' then p.debit_account else p.credit_account end as account
       ) side
       where split_part(side.account, '/', 1) = tg_argv[i]
       order by book, account
     ) taken;
     return null;
   end
   $$`,
];

/**
 * Looks for accounts with a minimum by one query for each kind. If a posting takes from no such account, one query over all
 * kinds took three times as long, a quarter of the time of the INSERT. Otherwise `require_minimum` takes nearly all of the time.
 */
export const minimumsByKindMigration: readonly string[] = [
  `create or replace function general_ledger.hold_minimums() returns trigger language plpgsql as $$
   begin
     for i in 0 .. tg_nargs - 1 by 3 loop
       perform general_ledger.require_minimum(taken.book, taken.account, tg_argv[i + 1], tg_argv[i + 2]::bigint)
       from (
         select distinct p.lender_id as book, side.account
         from posted p
         cross join lateral (
           select case tg_argv[i + 1] when 'credit' then p.debit_account else p.credit_account end as account
         ) side
         where split_part(side.account, '/', 1) = tg_argv[i]
         order by book, account
       ) taken;
     end loop;
     return null;
   end
   $$`,
];
