/**
 * Compares each correction with the transfer that it corrects, and allows corrections of parts. An older process still
 * finds a second correction of a whole transfer refused with the SQLSTATE of the unique index that this replaces.
 */
export const correctionMigration: readonly string[] = [
  // The lock makes the corrections of one transfer wait for each other: the sum then has those that have committed. A
  // transaction with one snapshot for all its queries would not see them.
  `create function general_ledger.require_corrected() returns trigger language plpgsql as $$
   declare
     wrong record;
     corrected numeric;
   begin
     if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
       raise exception 'a correction needs the isolation level READ COMMITTED, not %',
         upper(current_setting('transaction_isolation')) using errcode = 'feature_not_supported';
     end if;
     perform pg_advisory_xact_lock(hashtextextended('general_ledger.transfer ' || new.lender_id || ' ' || new.corrects, 0));
     select t.debit_account, t.credit_account, t.amount_minor into wrong
     from general_ledger.transfer t where t.lender_id = new.lender_id and t.id = new.corrects;
     if not found then
       raise exception 'the book % has no such transfer', new.lender_id
         using errcode = 'foreign_key_violation', constraint = 'transfer_correction';
     end if;
     if new.debit_account <> wrong.credit_account or new.credit_account <> wrong.debit_account then
       raise exception 'it moved the amount from % to %', wrong.credit_account, wrong.debit_account
         using errcode = 'check_violation', constraint = 'transfer_correction';
     end if;
     select coalesce(sum(t.amount_minor), 0) into corrected
     from general_ledger.transfer t where t.lender_id = new.lender_id and t.corrects = new.corrects;
     if corrected + new.amount_minor > wrong.amount_minor then
       raise exception '% of its % minor units were corrected already', corrected, wrong.amount_minor
         using errcode = 'unique_violation', constraint = 'transfer_corrected_once';
     end if;
     return new;
   end
   $$`,
  `create trigger require_corrected before insert on general_ledger.transfer
   for each row when (new.corrects is not null) execute function general_ledger.require_corrected()`,
  `create index transfer_corrects on general_ledger.transfer (lender_id, corrects) where corrects is not null`,
  `drop index general_ledger.transfer_corrected_once`,
];

/** The keys under which transfers were posted once. */
export const postingKeyMigration: readonly string[] = [
  `create table general_ledger.posting_key (
     lender_id uuid not null,
     key text not null check (key <> ''),
     content_hash bytea not null,
     transfer_ids uuid[] not null,
     recorded_at timestamptz not null,
     primary key (lender_id, key)
   )`,
  refuseChanges("posting_key"),
];

/** The tables of a chart: accounts, transfers, the chain over them and its anchors. */
export const generalMigration: readonly string[] = [
  `create schema general_ledger`,

  `create table general_ledger.account (
     lender_id uuid not null,
     id text not null,
     kind text not null,
     owner_id uuid not null,
     currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
     exponent smallint not null check (exponent between 0 and 4),
     created_at timestamptz not null,
     primary key (lender_id, id)
   )`,

  // Each row has one debit, one credit and one amount, so it always balances.
  `create table general_ledger.transfer (
     lender_id uuid not null,
     id uuid not null,
     debit_account text not null,
     credit_account text not null,
     amount_minor bigint not null check (amount_minor > 0),
     currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
     kind text not null,
     subject_id uuid,
     corrects uuid,
     memo text not null,
     effective_at timestamptz not null,
     recorded_at timestamptz not null,
     digest bytea not null,
     primary key (lender_id, id),
     check (debit_account <> credit_account),
     check ((kind = 'correction') = (corrects is not null))
   )`,
  `create index transfer_subject on general_ledger.transfer (lender_id, subject_id)`,
  `create index transfer_debit on general_ledger.transfer (lender_id, debit_account)`,
  `create index transfer_credit on general_ledger.transfer (lender_id, credit_account)`,
  `create unique index transfer_corrected_once on general_ledger.transfer (lender_id, corrects) where corrects is not null`,

  `create table general_ledger.chain_block (
     lender_id uuid not null,
     number bigint not null check (number > 0),
     transfer_ids uuid[] not null,
     row_count integer not null check (row_count > 0),
     rows_hash bytea not null,
     previous_hash bytea not null,
     last_id uuid not null,
     created_at timestamptz not null,
     hash bytea not null,
     primary key (lender_id, number)
   )`,

  `create table general_ledger.anchor (
     lender_id uuid primary key,
     number bigint not null check (number > 0),
     hash bytea not null,
     anchored_at timestamptz not null
   )`,

  // A digest is the SHA-256 of a row's columns. The columns of fixed width come first, in binary. A column that may be
  // null is hashed as 01 and its value, or as 00 if it is null. The texts follow, quoted as SQL literals, after a tag.
  // The functions call only immutable functions, and their bodies are parsed here. So no session setting changes a
  // digest, and the planner inlines the call. (convert_to is not used, because it is only stable.)
  `create function general_ledger.transfer_digest(
     lender_id uuid, id uuid, debit_account text, credit_account text, amount_minor bigint, currency text, kind text,
     subject_id uuid, corrects uuid, memo text, effective_at timestamptz, recorded_at timestamptz
   ) returns bytea language sql immutable parallel safe
   return sha256(
     uuid_send(lender_id) || uuid_send(id) || int8send(amount_minor)
     || timestamptz_send(effective_at) || timestamptz_send(recorded_at)
     || coalesce('\\x01'::bytea || uuid_send(subject_id), '\\x00'::bytea)
     || coalesce('\\x01'::bytea || uuid_send(corrects), '\\x00'::bytea)
     || decode(replace('transfer/1,' || quote_nullable(debit_account) || ',' || quote_nullable(credit_account)
       || ',' || quote_nullable(currency) || ',' || quote_nullable(kind) || ',' || quote_nullable(memo)
     , '\\', '\\\\'), 'escape'))`,

  // The hash of a block also protects the list of its ids: rows_hash is computed from the digests of exactly these
  // rows, in the order of their ids.
  `create function general_ledger.chain_block_hash(
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

  // On a cluster an INSERT cannot call the digest function for each of its rows, because Citus evaluates functions before
  // it sends the rows.
  `create function general_ledger.set_transfer_digest() returns trigger language plpgsql as $$
   begin
     new.digest := general_ledger.transfer_digest(new.lender_id, new.id, new.debit_account, new.credit_account,
       new.amount_minor, new.currency, new.kind, new.subject_id, new.corrects, new.memo, new.effective_at,
       new.recorded_at);
     return new;
   end
   $$`,
  `create trigger set_digest before insert on general_ledger.transfer
   for each row when (new.digest is null) execute function general_ledger.set_transfer_digest()`,

  // The check of a transfer's accounts takes no lock on them, because accounts are append-only: an account that exists
  // now is never removed.
  `create function general_ledger.require_open_accounts() returns trigger language plpgsql as $$
   declare
     missing text;
   begin
     select side.account into missing
     from (values (new.debit_account), (new.credit_account)) side (account)
     where not exists (
       select 1 from general_ledger.account a where a.lender_id = new.lender_id and a.id = side.account)
     limit 1;
     if missing is not null then
       raise exception 'the account % of the book % is not open', missing, new.lender_id
         using errcode = 'foreign_key_violation', hint = 'Open it before the transfer, in the same or an earlier transaction.';
     end if;
     return new;
   end
   $$`,
  `create trigger require_open_accounts before insert on general_ledger.transfer
   for each row execute function general_ledger.require_open_accounts()`,

  `create function general_ledger.refuse_change() returns trigger language plpgsql as $$
   begin
     raise exception '%.% is append-only: % is refused', tg_table_schema, tg_table_name, tg_op
       using errcode = 'restrict_violation', hint = 'Post a correction: a new transfer that names what it corrects.';
   end
   $$`,
  ...["account", "transfer", "chain_block"].map(refuseChanges),
];

/** Makes a table append-only. */
export function refuseChanges(table: string): string {
  return `create trigger append_only before update or delete or truncate on general_ledger.${table}
   for each statement execute function general_ledger.refuse_change()`;
}
