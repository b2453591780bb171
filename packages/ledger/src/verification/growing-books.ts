import {
  type EntityManager,
  firstIdAt,
  isOnCluster,
  query,
  statement,
  type Statement,
  transaction,
} from "@collections/database";
import type { LedgerTables } from "../tables/ledger-tables.ts";
import { statementName } from "../tables/statement-name.ts";
import type { ChainExtension } from "./chain.ts";
import { type BookList, booksIn } from "./verify.ts";

/**
 * A row becomes visible some time after its id was created. A book whose newest row is younger than this is extended again,
 * because an older row may have become visible since. It is a little longer than `extendChain` looks back.
 */
const STILL_GROWING_MS = 20 * 60_000;

/** The statements that find the books whose chains can be extended. */
export interface GrowingBooks {
  readonly selectGrowing: Statement;
  readonly listBooks: BookList;
}

/** Builds the statements that find the books whose chains can be extended. */
export function growingBooks({ schema, chained }: LedgerTables, listBooks: BookList): GrowingBooks {
  // Jumps from one book to the next in the primary key, and compares the newest row of each with the end of its chain.
  const growing = chained.map(
    ({ table }) => `(with recursive book (id) as (
         (select lender_id from ${table.name} order by lender_id limit 1)
         union all
         select (select lender_id from ${table.name} where lender_id > book.id order by lender_id limit 1)
         from book where book.id is not null
       )
       select book.id from book
       cross join lateral (
         select id from ${table.name} where lender_id = book.id order by lender_id desc, id desc limit 1
       ) newest
       left join lateral (
         select last_id from ${schema}.chain_block where lender_id = book.id order by lender_id desc, number desc limit 1
       ) head on true
       where head.last_id is null or newest.id > least(head.last_id, $1::uuid))`,
  );
  return {
    selectGrowing: statement(
      statementName(schema, "growing-books"),
      `${growing.join(`
       union
       `)} order by id`,
    ),
    listBooks,
  };
}

/** Returns the ids of the books whose chains can be extended. On a cluster these are all books. */
export async function booksToExtend(
  { selectGrowing, listBooks }: GrowingBooks,
  em: EntityManager,
  now = new Date(),
): Promise<string[]> {
  return transaction(em, async (tx) => {
    if (isOnCluster(tx)) return booksIn(listBooks, tx);
    const growingSince = firstIdAt(new Date(now.getTime() - STILL_GROWING_MS));
    const books = await query<{ id: string }>(tx, selectGrowing, [growingSince]);
    return books.map(({ id }) => id);
  });
}

/** Extends the chain of each book, and returns the number of rows added. Throws the first error at the end. */
export async function extendEach(
  books: readonly string[],
  extend: (book: string) => Promise<ChainExtension>,
): Promise<number> {
  let added = 0;
  const errors: unknown[] = [];
  for (const book of books) {
    try {
      added += (await extend(book)).rows;
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return added;
}
