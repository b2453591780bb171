import type { Client } from "pg";
import type { RegisteredSchema } from "../registry/registry.ts";

/** Where a cluster stores the rows of a table: on the lender's node, on every node, or only on the coordinator. */
export type Placement = "lender" | "reference" | "local";

/** The values of `pg_proc.provolatile`: immutable, stable, volatile. */
export type Volatility = "i" | "s" | "v";

/** A table with the types of its columns, by their names in `pg_type`. */
export interface CatalogTable {
  readonly placement: Placement;
  readonly columns: ReadonlyMap<string, string>;
}

/** A function, or the function behind an operator. */
export interface Callable {
  readonly volatility: Volatility;
  readonly args: readonly string[];
  readonly result: string;
  readonly isVariadic: boolean;
}

/** The properties of a migrated database that the rules need. Types have their names from `pg_type.typname`. */
export interface Catalog {
  /** The tables, by "schema.table". A table that is missing here belongs to PostgreSQL or to a library, and is local. */
  readonly tables: ReadonlyMap<string, CatalogTable>;
  readonly functions: ReadonlyMap<string, readonly Callable[]>;
  readonly operators: ReadonlyMap<string, readonly Callable[]>;
  /** The volatility of each cast. The key is "<source type> <target type>". */
  readonly casts: ReadonlyMap<string, Volatility>;
  /** For each type, the volatility of its input function (text to value) and of its output function (value to text). */
  readonly textForms: ReadonlyMap<string, { readonly read: Volatility; readonly write: Volatility }>;
  /** Definitions of the functions of our schemas, as `pg_get_functiondef` prints them. */
  readonly bodies: readonly { readonly name: string; readonly definition: string }[];
}

/** Reads the catalog of a migrated database, distributed or not. */
export async function readCatalog(client: Client, schemas: readonly RegisteredSchema[]): Promise<Catalog> {
  const names = schemas.map(({ name }) => name);
  return {
    tables: await tables(client, schemas, names),
    functions: await callables(client, FUNCTIONS),
    operators: await callables(client, OPERATORS),
    casts: new Map((await rowsOf<Cast>(client, CASTS)).map(({ key, volatility }) => [key, volatility])),
    textForms: new Map(
      (await rowsOf<TextForm>(client, TEXT_FORMS)).map(({ name, read, write }) => [name, { read, write }]),
    ),
    bodies: (await client.query<{ name: string; definition: string }>(BODIES, [names])).rows,
  };
}

interface Cast {
  readonly key: string;
  readonly volatility: Volatility;
}

interface TextForm {
  readonly name: string;
  readonly read: Volatility;
  readonly write: Volatility;
}

async function tables(
  client: Client,
  schemas: readonly RegisteredSchema[],
  names: readonly string[],
): Promise<Map<string, CatalogTable>> {
  const declared = new Map(
    schemas.flatMap(({ undistributed }) => undistributed.map(({ table, as }) => [table, as] as const)),
  );
  const { rows } = await client.query<{ table: string; columns: { name: string; type: string }[] }>(COLUMNS, [names]);
  return new Map(
    rows.map(({ table, columns }) => {
      const types = new Map(columns.map(({ name, type }) => [name, type]));
      return [
        table,
        { columns: types, placement: declared.get(table) ?? (types.has("lender_id") ? "lender" : "local") },
      ];
    }),
  );
}

async function callables(client: Client, text: string): Promise<Map<string, Callable[]>> {
  const found = new Map<string, Callable[]>();
  for (const { name, ...callable } of await rowsOf<Callable & { name: string }>(client, text)) {
    found.set(name, [...(found.get(name) ?? []), callable]);
  }
  return found;
}

async function rowsOf<Row extends object>(client: Client, text: string): Promise<Row[]> {
  return (await client.query<Row>(text)).rows;
}

const COLUMNS = `
  select format('%s.%s', n.nspname, c.relname) as table,
    json_agg(json_build_object('name', a.attname, 'type', t.typname) order by a.attnum) as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  where c.relkind in ('r', 'p', 'v') and n.nspname = any ($1)
  group by 1`;

const ARGUMENT_TYPES = `
  array(select t.typname::text from unnest(p.proargtypes) with ordinality as a (oid, place)
    join pg_type t on t.oid = a.oid order by a.place) as args`;

const FUNCTIONS = `
  select p.proname::text as name, p.provolatile as volatility, r.typname::text as result,
    p.provariadic <> 0 as "isVariadic", ${ARGUMENT_TYPES}
  from pg_proc p join pg_type r on r.oid = p.prorettype`;

const OPERATORS = `
  select o.oprname::text as name, p.provolatile as volatility, r.typname::text as result,
    false as "isVariadic", ${ARGUMENT_TYPES}
  from pg_operator o join pg_proc p on p.oid = o.oprcode join pg_type r on r.oid = o.oprresult`;

const CASTS = `
  select s.typname || ' ' || t.typname as key, coalesce(p.provolatile, 'i') as volatility
  from pg_cast c join pg_type s on s.oid = c.castsource join pg_type t on t.oid = c.casttarget
  left join pg_proc p on p.oid = c.castfunc
  where c.castmethod <> 'i'`;

const TEXT_FORMS = `
  select t.typname::text as name, i.provolatile as read, o.provolatile as write
  from pg_type t join pg_proc i on i.oid = t.typinput join pg_proc o on o.oid = t.typoutput`;

const BODIES = `
  select format('%s.%s', n.nspname, p.proname) as name, pg_get_functiondef(p.oid) as definition
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  join pg_type r on r.oid = p.prorettype
  where n.nspname = any ($1) and p.prokind = 'f' and r.typname <> 'trigger'
  order by 1`;
