import type { NamedTable } from "@collections/database";
import { createHash } from "node:crypto";

/** With a longer name of a schema, the name of a statement could be longer than PostgreSQL's limit of 63 bytes. */
const MAX_SCHEMA_CHARACTERS = 28;

/**
 * Returns the name of a statement: `general-ledger.add-block` for the schema `general_ledger`. A long name of a schema is
 * cut, and ends with a digest of the whole name.
 */
export function statementName(schema: string, what: string): string {
  const name = schema.replaceAll("_", "-");
  if (name.length <= MAX_SCHEMA_CHARACTERS) return `${name}.${what}`;
  const digest = createHash("sha256").update(schema).digest("hex").slice(0, 8);
  return `${name.slice(0, MAX_SCHEMA_CHARACTERS - digest.length - 1)}-${digest}.${what}`;
}

/** Returns the schema of a table: `shop` of `shop.account`. */
export function schemaOf({ name }: NamedTable): string {
  return name.slice(0, Math.max(0, name.indexOf(".")));
}
