/** Creates the table of `MasterKeySentinelEntity`. */
export const masterKeySentinelMigration: readonly string[] = [
  `create table lenders.master_key_sentinel (
     only_row boolean primary key default true check (only_row),
     sealed text not null,
     sealed_at timestamptz not null
   )`,
];
