import { checkByFunction } from "@collections/database";

/** Replaces the CHECK constraints of cases by one function, because each confirmation updates a case. */
export const caseRuleMigration: readonly string[] = checkByFunction({
  table: "cases.collection_case",
  name: "valid_case",
  columns: {
    status: "text",
    status_before_hold: "text",
    field_work: "text",
    blocked_at: "timestamptz",
    close_reason: "text",
    last_disposition: "text",
    is_current: "boolean",
    cycle: "integer",
    sequence: "bigint",
    placed_minor: "bigint",
    outstanding_minor: "bigint",
    total_collected_minor: "bigint",
    excess_minor: "bigint",
    minimum_minor: "bigint",
    emi_minor: "bigint",
  },
  body: `return status in ('new', 'assigned', 'in_progress', 'on_hold', 'collected', 'closed', 'withdrawn')
    and (status_before_hold is null or status_before_hold in ('new', 'assigned', 'in_progress'))
    and field_work in ('open', 'blocked') and (field_work = 'blocked') = (blocked_at is not null)
    and (status <> 'collected' or outstanding_minor = 0 or not is_current)
    and (close_reason is null
      or close_reason in ('paid_in_full', 'settled_by_lender', 'withdrawn', 'closed_by_operator'))
    and (last_disposition is null or last_disposition in ('PAID_VIA_LINK', 'PAID_ELSEWHERE_CLAIMED', 'PROMISE_TO_PAY',
      'CALLBACK_REQUESTED', 'NOT_AT_HOME', 'DOOR_LOCKED', 'SHIFTED', 'ADDRESS_NOT_FOUND', 'WRONG_PERSON',
      'REFUSED_TO_PAY', 'HARDSHIP', 'DISPUTE', 'DECEASED', 'UNSAFE', 'OTHER'))
    and cycle >= 1 and sequence >= 0
    and placed_minor >= 0 and outstanding_minor >= 0 and total_collected_minor >= 0
    and excess_minor between 0 and total_collected_minor
    and (minimum_minor is null or minimum_minor >= 0) and (emi_minor is null or emi_minor >= 0);`,
  replaces: [
    "collection_case_check",
    "collection_case_check1",
    "collection_case_collected_check",
    "collection_case_status_check",
    "collection_case_status_before_hold_check",
    "collection_case_field_work_check",
    "collection_case_close_reason_check",
    "collection_case_last_disposition_check",
    "collection_case_cycle_check",
    "collection_case_sequence_check",
    "collection_case_placed_minor_check",
    "collection_case_outstanding_minor_check",
    "collection_case_total_collected_minor_check",
    "collection_case_minimum_minor_check",
    "collection_case_emi_minor_check",
  ],
});
