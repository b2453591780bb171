import { refuseChanges } from "./general-migration.ts";

/** Holds: transfers that are pending until they are posted or voided, or until they expire. */
export const holdMigration: readonly string[] = [
  `create table general_ledger.hold (
     lender_id uuid not null,
     id uuid not null,
     debit_account text not null,
     credit_account text not null,
     amount_minor bigint not null check (amount_minor > 0),
     currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
     kind text not null check (kind <> 'correction'),
     subject_id uuid,
     memo text not null,
     metadata jsonb,
     expires_at timestamptz not null,
     recorded_at timestamptz not null,
     primary key (lender_id, id),
     check (debit_account <> credit_account)
   )`,
  // Balances count the holds that have not expired.
  `create index hold_debited on general_ledger.hold (lender_id, debit_account, expires_at)`,
  `create index hold_credited on general_ledger.hold (lender_id, credit_account, expires_at)`,
  `create trigger require_open_accounts before insert on general_ledger.hold
   for each row execute function general_ledger.require_open_accounts()`,

  // The primary key lets a hold end once.
  `create table general_ledger.hold_end (
     lender_id uuid not null,
     hold_id uuid not null,
     transfer_id uuid,
     recorded_at timestamptz not null,
     primary key (lender_id, hold_id)
   )`,
  `create function general_ledger.require_pending_hold() returns trigger language plpgsql as $$
   declare
     ended timestamptz;
   begin
     select h.expires_at into ended from general_ledger.hold h where h.lender_id = new.lender_id and h.id = new.hold_id;
     if not found then
       raise exception 'the book % has no such hold', new.lender_id
         using errcode = 'foreign_key_violation', constraint = 'hold_exists';
     end if;
     if new.transfer_id is not null and ended <= clock_timestamp() then
       raise exception 'it expired at %', to_char(ended at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
         using errcode = 'check_violation', constraint = 'hold_pending';
     end if;
     return new;
   end
   $$`,
  `create trigger require_pending_hold before insert on general_ledger.hold_end
   for each row execute function general_ledger.require_pending_hold()`,
  ...["hold", "hold_end"].map(refuseChanges),
];
