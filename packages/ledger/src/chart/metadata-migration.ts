/** The metadata of transfers. A transfer without metadata keeps the digest of earlier versions. */
export const metadataMigration: readonly string[] = [
  `alter table general_ledger.transfer add column metadata jsonb`,
  `create function general_ledger.transfer_digest(
     lender_id uuid, id uuid, debit_account text, credit_account text, amount_minor bigint, currency text, kind text,
     subject_id uuid, corrects uuid, memo text, effective_at timestamptz, recorded_at timestamptz, metadata jsonb
   ) returns bytea language sql immutable parallel safe
   return case when metadata is null
     then general_ledger.transfer_digest(lender_id, id, debit_account, credit_account, amount_minor, currency, kind,
       subject_id, corrects, memo, effective_at, recorded_at)
     else sha256(
       general_ledger.transfer_digest(lender_id, id, debit_account, credit_account, amount_minor, currency, kind,
         subject_id, corrects, memo, effective_at, recorded_at)
       || decode(replace('transfer/2,' || quote_literal(metadata::text), '\\', '\\\\'), 'escape'))
     end`,
  `create or replace function general_ledger.set_transfer_digest() returns trigger language plpgsql as $$
   begin
     new.digest := general_ledger.transfer_digest(new.lender_id, new.id, new.debit_account, new.credit_account,
       new.amount_minor, new.currency, new.kind, new.subject_id, new.corrects, new.memo, new.effective_at,
       new.recorded_at, new.metadata);
     return new;
   end
   $$`,
];
