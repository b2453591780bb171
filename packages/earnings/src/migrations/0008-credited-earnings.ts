/**
 * The earnings that are credited and not paid out, by field partner, and those of them below 0, by lender. So a list of
 * what is to be paid out, and the check of what field partners owe, do not read all earnings that were ever paid out.
 * A change of the status writes all indexes of an earning anyway. Operators of large databases create the indexes
 * CONCURRENTLY before the release.
 */
export const migration0008: readonly string[] = [
  `create index if not exists earning_credited on earnings.earning (field_partner_id, lender_id)
     where status = 'credited'`,
  `create index if not exists earning_taken_back on earnings.earning (lender_id, field_partner_id)
     where status = 'credited' and amount_minor < 0`,
];
