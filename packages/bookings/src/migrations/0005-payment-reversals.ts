import { digestBeforeInsert } from "./digest-before-insert.ts";

/**
 * Adds the reversals of payments, and their column in the blocks of the chain. A process of the previous version does
 * not name the column: its blocks then cover no reversals, and a newer process adds these to a later block.
 */
export const migration0005: readonly string[] = [
  `create table ledger.payment_reversal (
     lender_id uuid not null,
     id uuid not null,
     booking_id uuid not null,
     source_loan_number text not null,
     reference text not null check (reference <> ''),
     reversal_reference text not null check (reversal_reference <> ''),
     case_id uuid not null,
     cycle integer not null check (cycle > 0),
     amount_minor bigint not null check (amount_minor > 0),
     currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
     reversed_at timestamptz not null,
     reason text not null check (reason in ('bank_reversed', 'chargeback', 'bounced', 'duplicate', 'wrong_loan',
                                            'entered_by_mistake', 'other')),
     note text,
     applied_minor bigint not null check (applied_minor >= 0),
     excess_minor bigint not null check (excess_minor >= 0),
     in_balance boolean not null,
     adjustment_minor bigint not null,
     reapplied jsonb not null check (jsonb_typeof(reapplied) = 'array'),
     outstanding_after_minor bigint not null check (outstanding_after_minor >= 0),
     total_collected_after_minor bigint not null check (total_collected_after_minor >= 0),
     total_reversed_after_minor bigint not null check (total_reversed_after_minor >= amount_minor),
     excess_after_minor bigint not null check (excess_after_minor between 0 and total_collected_after_minor),
     status_after text not null,
     sequence bigint not null check (sequence > 0),
     warnings jsonb not null,
     recorded_at timestamptz not null,
     digest bytea not null,
     primary key (lender_id, id),
     unique (lender_id, source_loan_number, reversal_reference),
     check (amount_minor = applied_minor + excess_minor),
     check (case when in_balance then adjustment_minor = -applied_minor and reapplied = '[]'
       else adjustment_minor between 0 and excess_minor end)
   )`,

  // The same form of digest as in migration 0001: columns of fixed width, then nullable ones, then quoted texts.
  `create function ledger.payment_reversal_digest(
     lender_id uuid, id uuid, booking_id uuid, source_loan_number text, reference text, reversal_reference text,
     case_id uuid, cycle integer, amount_minor bigint, currency text, reversed_at timestamptz, reason text, note text,
     applied_minor bigint, excess_minor bigint, in_balance boolean, adjustment_minor bigint, reapplied jsonb,
     outstanding_after_minor bigint, total_collected_after_minor bigint, total_reversed_after_minor bigint,
     excess_after_minor bigint, status_after text, sequence bigint, warnings jsonb, recorded_at timestamptz
   ) returns bytea language sql immutable parallel safe
   return sha256(
     uuid_send(lender_id) || uuid_send(id) || uuid_send(booking_id) || uuid_send(case_id) || int4send(cycle)
     || int8send(amount_minor) || timestamptz_send(reversed_at) || int8send(applied_minor) || int8send(excess_minor)
     || boolsend(in_balance) || int8send(adjustment_minor) || int8send(outstanding_after_minor)
     || int8send(total_collected_after_minor) || int8send(total_reversed_after_minor) || int8send(excess_after_minor)
     || int8send(sequence) || timestamptz_send(recorded_at)
     || decode(replace('payment_reversal/1,' || quote_nullable(source_loan_number) || ',' || quote_nullable(reference)
       || ',' || quote_nullable(reversal_reference) || ',' || quote_nullable(currency) || ',' || quote_nullable(reason)
       || ',' || quote_nullable(note) || ',' || quote_nullable(reapplied::text) || ',' || quote_nullable(status_after)
       || ',' || quote_nullable(warnings::text)
     , '\\', '\\\\'), 'escape'))`,
  ...digestBeforeInsert("payment_reversal", [
    "lender_id, id, booking_id, source_loan_number, reference, reversal_reference, case_id, cycle, amount_minor",
    "currency, reversed_at, reason, note, applied_minor, excess_minor, in_balance, adjustment_minor, reapplied",
    "outstanding_after_minor, total_collected_after_minor, total_reversed_after_minor, excess_after_minor",
    "status_after, sequence, warnings, recorded_at",
  ]),
  `create trigger append_only before update or delete or truncate on ledger.payment_reversal
   for each statement execute function ledger.refuse_change()`,

  `alter table ledger.chain_block add column reversal_ids uuid[] not null default '{}'`,
];
