/**
 * The functions and indexes that find cases by branch, postal code, end of a loan number and borrower's name. A
 * confirmation changes no column of the indexes, and neither does the usual daily import of a lender's loans. Operators
 * of large databases create the functions, and the indexes CONCURRENTLY, before the release.
 *
 * The lender is in the hashed keys and is no column of an index. Otherwise PostgreSQL could use such an index to find
 * all cases of a lender, in plans of hot queries that it makes while the table is empty. For the same reason, no index is
 * restricted to current cases.
 *
 * The index on names contains hashes of the first three and the first five letters of each word. It contains no names,
 * because a GIN index keeps its keys after the rows are gone, and names must be gone after an erasure.
 */
export const searchMigration: readonly string[] = [
  `create or replace function cases.search_key(lender_id uuid, text text) returns bigint
     language sql immutable parallel safe
     return hashtextextended(replace(lower(text), ' ', ''), uuid_hash_extended(lender_id, 0))`,
  `create or replace function cases.name_keys(lender_id uuid, name text) returns bigint[]
     language sql immutable parallel safe
     return array(
       select distinct cases.search_key(lender_id, left(word, letters))
       from string_to_table(name, ' ') word, (values (3), (5)) as v (letters)
       where word <> '' and (letters = 3 or length(word) >= letters)
     )`,
  `create index if not exists case_of_name on cases.collection_case
     using gin (cases.name_keys(lender_id, borrower_name))`,
  `create index if not exists case_of_loan_end on cases.collection_case
     ((reverse(lower(source_loan_number)) collate "C"))`,
  `create index if not exists case_of_branch on cases.collection_case
     (cases.search_key(lender_id, branch_code), id) where branch_code is not null`,
  `create index if not exists case_of_postal_code on cases.collection_case
     (cases.search_key(lender_id, addresses #>> '{0,postalCode}'), id)`,
];
