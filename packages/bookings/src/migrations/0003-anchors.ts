/**
 * How far each lender's chain has been anchored outside the database. Workers read it, so that they do not anchor the
 * same head twice.
 */
export const migration0003: readonly string[] = [
  `create table ledger.anchor (
     lender_id uuid primary key,
     number bigint not null check (number > 0),
     hash bytea not null,
     anchored_at timestamptz not null
   )`,
];
