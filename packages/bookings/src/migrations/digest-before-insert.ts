/** Returns the statements of a trigger that computes the digest of a row of `ledger.<table>` that has none. */
export function digestBeforeInsert(table: string, columns: readonly string[]): string[] {
  const values = columns.join(", ").replaceAll(/\w+/g, "new.$&");
  return [
    `create function ledger.set_${table}_digest() returns trigger language plpgsql as $$
     begin
       new.digest := ledger.${table}_digest(${values});
       return new;
     end
     $$`,
    `create trigger set_digest before insert on ledger.${table}
     for each row when (new.digest is null) execute function ledger.set_${table}_digest()`,
  ];
}
