import { type CustomTypesConfig, types } from "pg";

/** An SQL text. */
export interface Statement {
  /** The name under which each connection prepares the constant text once. Empty for a text that is not prepared. */
  readonly name: string;
  readonly text: string;
}

/**
 * A statement of another library, such as pg-boss. No schema is renamed in its text, because the text may contain
 * values: pg-boss writes the name of a queue into it, and a package's queues and tables have names with the same
 * beginning.
 */
export interface ForeignStatement extends Statement {
  readonly isForeign: true;
}

const texts = new Map<string, string>();

/**
 * Names a constant SQL text, for example `statement("ledger.book-payments", "insert …")`. PostgreSQL's prepared
 * statement gets the same name, so the name may have at most 63 bytes, and two texts must not have the same name.
 *
 * @example
 * const byId = statement("billing.invoice-by-id", "select id, paid from billing.invoice where id = $1");
 * const [invoice] = await query<{ id: string; paid: boolean }>(em, byId, [invoiceId]);
 */
export function statement(name: string, text: string): Statement {
  if (name.length > 63) throw new Error(`The statement name ${name} is longer than PostgreSQL's limit of 63 bytes.`);
  if (texts.has(name) && texts.get(name) !== text) {
    throw new Error(`Two statements with different texts are named ${name}: give one of them another name.`);
  }
  texts.set(name, text);
  return { name, text };
}

/**
 * Makes a statement whose text is built for one call, such as a search with optional conditions. It is not prepared, and
 * PostgreSQL plans it for its values. The text contains no values: they are parameters.
 *
 * @example
 * const paid = onlyPaid ? "and paid" : "";
 * const search = adHocStatement(`select id from billing.invoice where lender_id = $1 ${paid}`);
 * const found = await query<{ id: string }>(em, search, [lenderId]);
 */
export function adHocStatement(text: string): Statement {
  return { name: "", text };
}

/**
 * Returns all statements that the packages loaded in this process have named. Tests use it to check a rule on every
 * statement.
 *
 * @example
 * const inserts = namedStatements().filter(({ text }) => text.startsWith("insert into billing."));
 */
export function namedStatements(): Statement[] {
  return [...texts].map(([name, text]) => ({ name, text }));
}

const { builtins } = types;

const INT8_ARRAY = 1016;

const parsers = new Map<number, (text: string) => unknown>([
  [builtins.INT8, BigInt],
  [builtins.DATE, String],
  [builtins.NUMERIC, String],
  [INT8_ARRAY, (text) => (text === "{}" ? [] : text.slice(1, -1).split(",").map(BigInt))],
]);

/** Parsers of statement rows: int8 becomes bigint, date and numeric stay text. All other types are parsed as by `pg`. */
export const statementTypes: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") => parsers.get(oid) ?? fallbackParser(oid, format),
};

const fallbackParser = types.getTypeParser as (oid: number, format?: "text" | "binary") => (text: string) => unknown;
