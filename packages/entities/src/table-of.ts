import { type Table, tableWith } from "@collections/database";
import type { EntityProperty, EntitySchema } from "@mikro-orm/core";
import { PostgreSqlPlatform, Type, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";

/**
 * Returns methods that generate the parts of SQL statements with column names. The names come from the entity of a
 * table, so that only the entity names the columns. Call it once for each table, when the module loads.
 *
 * @example
 * const table = tableOf(InvoiceEntity);
 * const CHANGED = ["paid", "paidAt"] as const;
 * const lock = statement(
 *   "billing.lock-own-invoice",
 *   `select ${table.selectList("i")} from ${table.name} i where i.id = $1 for no key update`,
 * );
 * const save = statement(
 *   "billing.save-own-invoice",
 *   `update ${table.name} set ${table.assignParameters(CHANGED, 2)} where id = $1`,
 * );
 * const [invoice] = await query<InvoiceRow>(tx, lock, [invoiceId]);
 * if (invoice) send(tx, save, [invoice.id, ...table.values({ ...invoice, paid: true, paidAt: dueAt }, CHANGED)]);
 */
export function tableOf<Row extends object>({ meta }: EntitySchema<Row>): Table<Row> {
  const name = [meta.schema, meta.tableName].filter(Boolean).join(".");
  const properties = Object.entries<EntityProperty>(meta.properties);
  const columns = properties.map(([property, options]) => ({
    property,
    name: nameOf(property, options),
    type: typeOf(options),
    isNullable: options.nullable === true,
  }));
  return tableWith<Row>(name, columns);
}

const platform = new PostgreSqlPlatform();
const naming = new UnderscoreNamingStrategy();

function nameOf(property: string, options: EntityProperty): string {
  const { fieldName } = options as { readonly fieldName?: string };
  return fieldName ?? naming.propertyToColumnName(property);
}

/** The column type that MikroORM would create, with PostgreSQL's own name for `int`. */
function typeOf(options: EntityProperty): string {
  const { type } = options as { readonly type: unknown };
  const declared = options as { readonly columnType?: string };
  const columnType = declared.columnType ?? mappedType(type).getColumnType(options, platform);
  return columnType === "int" ? "integer" : columnType;
}

/** MikroORM accepts a type as an instance, as a class, or by its name. */
function mappedType(type: unknown): Type<unknown> {
  if (type instanceof Type) return type;
  return typeof type === "string" ? platform.getDefaultMappedType(type) : new (type as new () => Type<unknown>)();
}
