/**
 * The lines below 0, which are few. So the deductions of a day are found without reading all earnings of the day.
 * Operators of large databases create the index CONCURRENTLY before the release.
 */
export const migration0009: readonly string[] = [
  `create index if not exists earning_deducted on earnings.earning (lender_id, id) where amount_minor < 0`,
];
