/**
 * Adds an index that contains all keys of a case by which operators search: its branch, its postal code, its field partner and
 * the first letters of its borrower's name. One read of the index finds the cases that have several of these keys, also if each
 * key belongs to many cases. It replaces the index on names of migration 0016.
 *
 * An update of a case that changes none of these columns does not write the index. A confirmation and the usual daily
 * import of a lender's loans change none of them. See 0014-search.ts for the hashes.
 */
export const filterKeysMigration: readonly string[] = [
  `create or replace function cases.filter_keys(lender_id uuid, name text, branch_code text, postal_code text, holder_id uuid)
     returns bigint[]
     language sql immutable parallel safe
     return cases.folded_name_keys(lender_id, name) || array_remove(array[
       cases.search_key(lender_id, 'branch ' || branch_code),
       cases.search_key(lender_id, 'postal code ' || postal_code),
       cases.search_key(lender_id, 'holder ' || holder_id::text)
     ], null)`,
  `create index if not exists case_of_filters on cases.collection_case
     using gin (cases.filter_keys(lender_id, borrower_name, branch_code, addresses #>> '{0,postalCode}', assigned_field_partner_id))`,
  "drop index if exists cases.case_of_folded_name",
];
