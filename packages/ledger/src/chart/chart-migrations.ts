import type { PackageMigration } from "@collections/database";

/** For each kind of transfer, the kinds of account that it may debit and credit. All names consist of a-z, 0-9 and _. */
export type KindRules = ReadonlyMap<string, { readonly debit: readonly string[]; readonly credit: readonly string[] }>;

/**
 * Returns the migrations of a chart, one for each of its versions. Only the last migration has statements: it replaces
 * the rules of whichever version was migrated before. If an existing row violates the new rules, the migration fails.
 */
export function chartMigrations({
  accounts,
  rules,
  version,
}: {
  readonly accounts: readonly string[];
  readonly rules: KindRules;
  readonly version: number;
}): PackageMigration[] {
  const nameOf = (number: number) => `chart-${String(number).padStart(4, "0")}`;
  const earlier = Array.from({ length: version - 1 }, (_, index) => ({ name: nameOf(index + 1), statements: [] }));
  return [...earlier, { name: nameOf(version), statements: replaceRules(accounts, rules) }];
}

function replaceRules(accounts: readonly string[], rules: KindRules): string[] {
  const kinds = [...rules].map(
    ([kind, { debit, credit }]) => `when '${kind}' then split_part(debit_account, '/', 1) in (${listed(debit)})
         and split_part(credit_account, '/', 1) in (${listed(credit)})`,
  );
  return [
    `alter table general_ledger.account
       drop constraint if exists account_in_chart,
       add constraint account_in_chart check (kind in (${listed(accounts)})
         and id = kind || '/' || owner_id::text || '/' || currency::text)`,
    `alter table general_ledger.transfer
       drop constraint if exists transfer_in_chart,
       add constraint transfer_in_chart check ((case kind
         ${kinds.join("\n         ")}
         when 'correction' then memo <> ''
         else false end) is true
         and split_part(debit_account, '/', 3) = currency::text and split_part(credit_account, '/', 3) = currency::text)`,
  ];
}

function listed(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}
