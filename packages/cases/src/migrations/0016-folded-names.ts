import { foldedNameFunction } from "@collections/database";

/**
 * Names are searched by a folded form, in which names that look the same are equal: case, width, joiners, chillus, nuktas,
 * apostrophes and dashes do not matter. The index contains the keys of the folded names of all rows, so rows of earlier
 * versions are found, too. It replaces the index on names of migration 0014.
 *
 * `sites/field-app/src/phone/data/folded-name.ts` folds in the same way on a phone without a network.
 */
export const foldedNamesMigration: readonly string[] = [
  foldedNameFunction("cases"),
  `create or replace function cases.folded_name_keys(lender_id uuid, name text) returns bigint[]
     language sql immutable parallel safe
     return array(
       select distinct cases.search_key(lender_id, left(word, letters))
       from string_to_table(cases.folded_name(name), ' ') word, (values (3), (5)) as v (letters)
       where word <> '' and (letters = 3 or length(word) >= letters)
     )`,
  `create index if not exists case_of_folded_name on cases.collection_case
     using gin (cases.folded_name_keys(lender_id, borrower_name))`,
  "drop index if exists cases.case_of_name",
];
