import {
  type AnyEntity,
  type Dictionary,
  type EntityData,
  isRaw,
  JsonProperty,
  type LoggingOptions,
  type QueryResult,
  raw,
  type RawQueryFragment,
  type Transaction,
  Utils,
} from "@mikro-orm/core";
import { PostgreSqlConnection, PostgreSqlDriver } from "@mikro-orm/postgresql";
import { type BasePostgreSqlPlatform, NativeQueryBuilder } from "@mikro-orm/sql";
import { CompiledQuery } from "kysely";

/** The wire protocol counts the parameters of a query in 16 bits. */
const MAX_PARAMETERS = 65_535;

/**
 * MikroORM's driver for PostgreSQL, changed to send values as parameters. MikroORM itself writes each value into the SQL
 * text. PostgreSQL writes the text of a failed query to its log, so names and phone numbers would be in the log.
 */
export class BoundDriver extends PostgreSqlDriver {
  protected override readonly connection: PostgreSqlConnection = new BoundConnection(this.config);
}

type Query = string | NativeQueryBuilder | RawQueryFragment;

export class BoundConnection extends PostgreSqlConnection {
  /** Called with the values of each query before it is sent. If it throws, the query is not sent. */
  refuse: (values: readonly unknown[]) => void = () => {};
  /** Changes the SQL text of each query before it is sent. */
  rename: (text: string) => string = (text) => text;

  /** Gives MikroORM the final SQL text, but no values to write into the text. The values are sent as parameters. */
  override async execute<T extends QueryResult | EntityData<AnyEntity> | EntityData<AnyEntity>[]>(
    query: Query,
    params: readonly unknown[] | Dictionary<unknown> = [],
    method?: "all" | "get" | "run",
    ctx?: Transaction,
    loggerContext?: LoggingOptions,
  ): Promise<T> {
    await this.ensureConnection();
    const { text: original, values } = bind(this.platform as BasePostgreSqlPlatform, query, params);
    const text = this.rename(original);
    this.refuse(values);
    const target = (ctx ?? this.getClient()) as ReturnType<PostgreSqlConnection["getClient"]>;
    const withValues: Pick<typeof target, "executeQuery"> = {
      executeQuery: (_query, options) => target.executeQuery(CompiledQuery.raw(text, values), options),
    };
    return super.execute<T>(text, [], method, withValues as Transaction, loggerContext);
  }

  override stream(): never {
    throw new Error("stream() would write values into the SQL text: read pages with find() instead.");
  }
}

interface BoundQuery {
  readonly text: string;
  readonly values: unknown[];
}

/** Formats a query as MikroORM does, but writes `$1`, `$2` and so on in place of the values. */
function bind(
  platform: BasePostgreSqlPlatform,
  query: Query,
  params: readonly unknown[] | Dictionary<unknown>,
): BoundQuery {
  const values: unknown[] = [];
  const binding = Object.create(platform, { quoteValue: { value: bound } }) as BasePostgreSqlPlatform;
  const fragment = asFragment(query, params);
  return { text: binding.formatQuery(fragment.sql, fragment.params), values };

  function bound(value: unknown): string {
    if (isRaw(value)) return binding.formatQuery(value.sql, value.params);
    if (Array.isArray(value)) return value.map(bound).join(", ");
    if (value === undefined) throw new Error(`A value of this query is undefined: ${fragment.sql.slice(0, 200)}`);
    if (values.length === MAX_PARAMETERS) {
      throw new Error(
        `A query has more than ${MAX_PARAMETERS} values: split the query, or send one array with query().`,
      );
    }
    values.push(wireValue(platform, value));
    return `$${values.length}`;
  }
}

/** MikroORM passes queries in several forms. Converts each form to an SQL text with `?` and a list of values. */
function asFragment(
  query: Query,
  params: readonly unknown[] | Dictionary<unknown>,
): { readonly sql: string; readonly params: readonly unknown[] } {
  if (query instanceof NativeQueryBuilder) return query.toRaw();
  if (isRaw(query)) return query;
  return Array.isArray(params) ? { sql: query, params } : raw(query, params as Dictionary<unknown>);
}

/**
 * Converts dates and objects as MikroORM does before it quotes them. `pg` converts all other values as MikroORM does.
 */
function wireValue(platform: BasePostgreSqlPlatform, value: unknown): unknown {
  if (value instanceof Date) return platform.formatDate(value);
  const isJson = Utils.isPlainObject(value) || (value as { [JsonProperty]?: boolean } | null)?.[JsonProperty];
  return isJson ? JSON.stringify(value) : value;
}
