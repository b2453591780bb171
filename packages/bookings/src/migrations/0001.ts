/** The books: accounts, transfers, payment bookings and the chain over them. */
export const migration0001: readonly string[] = [
  `create schema ledger`,

  `create table ledger.account (
     lender_id uuid not null,
     id text not null,
     kind text not null check (kind in ('receivable', 'excess', 'placed', 'settled_direct', 'commission_expense',
                                        'pending', 'credited', 'paid')),
     owner_id uuid not null,
     currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
     exponent smallint not null check (exponent between 0 and 4),
     created_at timestamptz not null,
     primary key (lender_id, id),
     check (id = kind || '/' || owner_id::text
       || case when kind in ('receivable', 'excess') then '' else '/' || currency::text end)
   )`,

  // Each row has one debit, one credit and one amount, so it always balances. The last check allows only the accounts
  // that belong to the row's kind.
  `create table ledger.transfer (
     lender_id uuid not null,
     id uuid not null,
     debit_account text not null,
     credit_account text not null,
     amount_minor bigint not null check (amount_minor > 0),
     currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
     kind text not null,
     case_id uuid,
     booking_id uuid,
     corrects uuid,
     sequence bigint check (sequence > 0),
     memo text not null,
     effective_at timestamptz not null,
     recorded_at timestamptz not null,
     digest bytea not null,
     primary key (lender_id, id),
     check (debit_account <> credit_account),
     check ((kind = 'correction') = (corrects is not null)),
     check ((case kind
       when 'placement' then debit_account = 'receivable/' || case_id::text
         and credit_account = 'placed/' || lender_id::text || '/' || currency::text and sequence is not null
       when 'adjustment' then sequence is not null and (
         (debit_account = 'receivable/' || case_id::text
           and credit_account = 'placed/' || lender_id::text || '/' || currency::text)
         or (debit_account = 'placed/' || lender_id::text || '/' || currency::text
           and credit_account = 'receivable/' || case_id::text))
       when 'payment' then debit_account = 'settled_direct/' || lender_id::text || '/' || currency::text
         and credit_account = 'receivable/' || case_id::text and booking_id is not null and sequence is not null
       when 'excess' then debit_account = 'settled_direct/' || lender_id::text || '/' || currency::text
         and credit_account = 'excess/' || case_id::text and booking_id is not null and sequence is not null
       when 'commission' then debit_account = 'commission_expense/' || lender_id::text || '/' || currency::text
         and credit_account ~ ('^pending/[^/]+/' || currency::text || '$') and booking_id is not null
       when 'earning_credited' then debit_account ~ ('^pending/[^/]+/' || currency::text || '$')
         and credit_account = 'credited' || substr(debit_account, length('pending') + 1)
       when 'payout' then debit_account ~ ('^credited/[^/]+/' || currency::text || '$')
         and credit_account = 'paid' || substr(debit_account, length('credited') + 1)
       when 'correction' then memo <> ''
         and (split_part(debit_account, '/', 1) not in ('receivable', 'excess')
           or (split_part(debit_account, '/', 2) = case_id::text and sequence is not null))
         and (split_part(credit_account, '/', 1) not in ('receivable', 'excess')
           or (split_part(credit_account, '/', 2) = case_id::text and sequence is not null))
     end) is true)
   )`,
  `create index transfer_case on ledger.transfer (lender_id, case_id)`,

  `create table ledger.payment_booking (
     lender_id uuid not null,
     id uuid not null,
     source_loan_number text not null,
     reference text not null check (reference <> ''),
     case_id uuid not null,
     cycle integer not null check (cycle > 0),
     amount_minor bigint not null check (amount_minor > 0),
     currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
     mode text not null,
     raw_mode text not null,
     paid_at timestamptz not null,
     link_id text,
     visit_id uuid,
     field_partner_id uuid,
     attribution text not null check (attribution in ('exact', 'inferred', 'none')),
     applied_minor bigint not null check (applied_minor >= 0),
     excess_minor bigint not null check (excess_minor >= 0),
     outstanding_after_minor bigint not null check (outstanding_after_minor >= 0),
     total_collected_after_minor bigint not null check (total_collected_after_minor >= amount_minor),
     status_after text not null,
     sequence bigint not null check (sequence > 0),
     warnings jsonb not null,
     recorded_at timestamptz not null,
     digest bytea not null,
     primary key (lender_id, id),
     unique (lender_id, source_loan_number, reference),
     check (amount_minor = applied_minor + excess_minor),
     check (excess_minor = 0 or outstanding_after_minor = 0),
     check (status_after = case when outstanding_after_minor = 0 then 'collected' else 'in_progress' end),
     check (attribution <> 'none' or field_partner_id is null)
   )`,
  `create index payment_booking_field_partner on ledger.payment_booking (field_partner_id, recorded_at)`,

  `create table ledger.chain_block (
     lender_id uuid not null,
     number bigint not null check (number > 0),
     transfer_ids uuid[] not null,
     booking_ids uuid[] not null,
     row_count integer not null check (row_count > 0),
     rows_hash bytea not null,
     previous_hash bytea not null,
     last_id uuid not null,
     created_at timestamptz not null,
     hash bytea not null,
     primary key (lender_id, number)
   )`,

  // A digest is the SHA-256 of a row's columns. The columns of fixed width come first, in binary. A column that may be
  // null is hashed as 01 and its value, or as 00 if it is null. The texts follow, quoted as SQL literals, after a tag.
  // The functions call only immutable functions, and their bodies are parsed here. So no session setting changes a
  // digest, and the planner inlines the call. (convert_to is not used, because it is only stable.)
  `create function ledger.transfer_digest(
     lender_id uuid, id uuid, debit_account text, credit_account text, amount_minor bigint, currency text, kind text,
     case_id uuid, booking_id uuid, corrects uuid, sequence bigint, memo text,
     effective_at timestamptz, recorded_at timestamptz
   ) returns bytea language sql immutable parallel safe
   return sha256(
     uuid_send(lender_id) || uuid_send(id) || int8send(amount_minor)
     || timestamptz_send(effective_at) || timestamptz_send(recorded_at)
     || coalesce('\\x01'::bytea || uuid_send(case_id), '\\x00'::bytea)
     || coalesce('\\x01'::bytea || uuid_send(booking_id), '\\x00'::bytea)
     || coalesce('\\x01'::bytea || uuid_send(corrects), '\\x00'::bytea)
     || coalesce('\\x01'::bytea || int8send(sequence), '\\x00'::bytea)
     || decode(replace('transfer/1,' || quote_nullable(debit_account) || ',' || quote_nullable(credit_account)
       || ',' || quote_nullable(currency) || ',' || quote_nullable(kind) || ',' || quote_nullable(memo)
     , '\\', '\\\\'), 'escape'))`,

  `create function ledger.payment_booking_digest(
     lender_id uuid, id uuid, source_loan_number text, reference text, case_id uuid, cycle integer,
     amount_minor bigint, currency text, mode text, raw_mode text, paid_at timestamptz, link_id text, visit_id uuid,
     field_partner_id uuid, attribution text, applied_minor bigint, excess_minor bigint,
     outstanding_after_minor bigint, total_collected_after_minor bigint, status_after text, sequence bigint,
     warnings jsonb, recorded_at timestamptz
   ) returns bytea language sql immutable parallel safe
   return sha256(
     uuid_send(lender_id) || uuid_send(id) || uuid_send(case_id) || int4send(cycle) || int8send(amount_minor)
     || timestamptz_send(paid_at) || int8send(applied_minor) || int8send(excess_minor)
     || int8send(outstanding_after_minor) || int8send(total_collected_after_minor) || int8send(sequence)
     || timestamptz_send(recorded_at)
     || coalesce('\\x01'::bytea || uuid_send(visit_id), '\\x00'::bytea)
     || coalesce('\\x01'::bytea || uuid_send(field_partner_id), '\\x00'::bytea)
     || decode(replace('payment_booking/1,' || quote_nullable(source_loan_number) || ',' || quote_nullable(reference)
       || ',' || quote_nullable(currency) || ',' || quote_nullable(mode) || ',' || quote_nullable(raw_mode)
       || ',' || quote_nullable(link_id) || ',' || quote_nullable(attribution) || ',' || quote_nullable(status_after)
       || ',' || quote_nullable(warnings::text)
     , '\\', '\\\\'), 'escape'))`,

  // The hash of a block also protects the list of its ids: rows_hash is computed from the digests of exactly these
  // rows, in the order of their ids.
  `create function ledger.chain_block_hash(
     lender_id uuid, number bigint, row_count integer, rows_hash bytea, previous_hash bytea, last_id uuid,
     created_at timestamptz
   ) returns bytea language sql immutable parallel safe
   return sha256(decode('chain_block/1'
       || ',' || quote_nullable(lender_id::text)
       || ',' || quote_nullable(number::text)
       || ',' || quote_nullable(row_count::text)
       || ',' || quote_nullable(encode(rows_hash, 'hex'))
       || ',' || quote_nullable(encode(previous_hash, 'hex'))
       || ',' || quote_nullable(last_id::text)
       || ',' || quote_nullable(extract(epoch from created_at at time zone 'UTC')::text)
     , 'escape'))`,

  `create function ledger.refuse_change() returns trigger language plpgsql as $$
   begin
     raise exception '%.% is append-only: % is refused', tg_table_schema, tg_table_name, tg_op
       using errcode = 'restrict_violation', hint = 'Post a correction: a new transfer that names what it corrects.';
   end
   $$`,
  ...["account", "transfer", "payment_booking", "chain_block"].map(
    (table) =>
      `create trigger append_only before update or delete or truncate on ledger.${table}
       for each statement execute function ledger.refuse_change()`,
  ),
];
