import { checkByFunction } from "@collections/database";

/**
 * Replaces the CHECK constraints of payment bookings and of transfers by one function each, because each confirmation
 * writes to both tables. The tables come in the order in which a confirmation writes them: ALTER TABLE locks its table
 * until the migration commits, so in another order the migration and a confirmation could wait for each other.
 */
export const migration0007: readonly string[] = [
  ...checkByFunction({
    table: "ledger.payment_booking",
    name: "valid_payment_booking",
    columns: {
      reference: "text",
      cycle: "integer",
      amount_minor: "bigint",
      currency: "text",
      field_partner_id: "uuid",
      attribution: "text",
      applied_minor: "bigint",
      excess_minor: "bigint",
      outstanding_after_minor: "bigint",
      total_collected_after_minor: "bigint",
      status_after: "text",
      sequence: "bigint",
      in_balance_minor: "bigint",
    },
    body: `return reference <> '' and cycle > 0 and sequence > 0 and currency ~ '^[A-Z]{3}$'
      and amount_minor > 0 and applied_minor >= 0 and excess_minor >= 0 and amount_minor = applied_minor + excess_minor
      and outstanding_after_minor >= 0 and total_collected_after_minor >= amount_minor
      and (excess_minor = 0 or outstanding_after_minor = 0 or in_balance_minor is not null)
      and (in_balance_minor is null or in_balance_minor = applied_minor)
      and status_after = case when outstanding_after_minor = 0 then 'collected' else 'in_progress' end
      and attribution in ('exact', 'inferred', 'none') and (attribution <> 'none' or field_partner_id is null);`,
    replaces: [
      "payment_booking_reference_check",
      "payment_booking_cycle_check",
      "payment_booking_amount_minor_check",
      "payment_booking_currency_check",
      "payment_booking_attribution_check",
      "payment_booking_applied_minor_check",
      "payment_booking_excess_minor_check",
      "payment_booking_outstanding_after_minor_check",
      "payment_booking_check",
      "payment_booking_sequence_check",
      "payment_booking_check1",
      "payment_booking_in_balance_check",
      "payment_booking_check3",
      "payment_booking_check4",
    ],
  }),
  ...checkByFunction({
    table: "ledger.transfer",
    name: "valid_transfer",
    columns: {
      lender_id: "uuid",
      debit_account: "text",
      credit_account: "text",
      amount_minor: "bigint",
      currency: "text",
      kind: "text",
      case_id: "uuid",
      booking_id: "uuid",
      corrects: "uuid",
      sequence: "bigint",
      memo: "text",
    },
    // The kinds of a confirmation come first.
    body: `
      if not (amount_minor > 0 and (sequence is null or sequence > 0) and currency ~ '^[A-Z]{3}$'
        and debit_account <> credit_account and (kind = 'correction') = (corrects is not null)) then
        return false;
      end if;
      if kind = 'payment' then
        return (debit_account = 'settled_direct/' || lender_id::text || '/' || currency
          and credit_account = 'receivable/' || case_id::text and booking_id is not null and sequence is not null) is true;
      end if;
      if kind = 'commission' then
        return (debit_account = 'commission_expense/' || lender_id::text || '/' || currency
          and credit_account ~ ('^pending/[^/]+/' || currency || '$') and booking_id is not null) is true;
      end if;
      return (case kind
        when 'placement' then debit_account = 'receivable/' || case_id::text
          and credit_account = 'placed/' || lender_id::text || '/' || currency and sequence is not null
        when 'adjustment' then sequence is not null and (
          (debit_account = 'receivable/' || case_id::text
            and credit_account = 'placed/' || lender_id::text || '/' || currency)
          or (debit_account = 'placed/' || lender_id::text || '/' || currency
            and credit_account = 'receivable/' || case_id::text))
        when 'excess' then debit_account = 'settled_direct/' || lender_id::text || '/' || currency
          and credit_account = 'excess/' || case_id::text and booking_id is not null and sequence is not null
        when 'earning_credited' then debit_account ~ ('^pending/[^/]+/' || currency || '$')
          and credit_account = 'credited' || substr(debit_account, length('pending') + 1)
        when 'payout' then debit_account ~ ('^credited/[^/]+/' || currency || '$')
          and credit_account = 'paid' || substr(debit_account, length('credited') + 1)
        when 'correction' then memo <> ''
          and (split_part(debit_account, '/', 1) not in ('receivable', 'excess')
            or (split_part(debit_account, '/', 2) = case_id::text and sequence is not null))
          and (split_part(credit_account, '/', 1) not in ('receivable', 'excess')
            or (split_part(credit_account, '/', 2) = case_id::text and sequence is not null))
        end) is true;`,
    replaces: [
      "transfer_amount_minor_check",
      "transfer_sequence_check",
      "transfer_currency_check",
      "transfer_check",
      "transfer_check1",
      "transfer_check2",
    ],
  }),
];
