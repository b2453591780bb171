/**
 * With this index, each line of a booking is in one of three partial indexes: the line of the payment, the lines of
 * reversals, and the lines of balances, which are rare. So the lines of a booking are found without reading all earnings
 * of the lender, and a confirmation writes no further index. Operators of large databases create the index CONCURRENTLY
 * before the release.
 */
export const migration0007: readonly string[] = [
  `create index if not exists earning_of_balance on earnings.earning (lender_id, booking_id)
     where base_before_minor is not null and reversal_id is null`,
];
