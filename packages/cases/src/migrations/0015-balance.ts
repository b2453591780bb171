/**
 * Adds the lender's newest balance to a case. Existing rows keep null, and a process of the previous version does not
 * change the columns: `isBalanceKnown` tells whether the balance can be used.
 */
export const balanceMigration: readonly string[] = [
  `alter table cases.collection_case
     add column balance_minor bigint, add column balance_as_of timestamptz, add column balance_sequence bigint`,
];
