import { createPostgreSqlTypeParsers } from "@mikro-orm/sql";
import { type CustomTypesConfig, TypeOverrides, types } from "pg";

const TEXT_ARRAY = 1009;
const parserOf = types.getTypeParser as (oid: number) => (text: string) => string[];

/**
 * The parsers that MikroORM needs for the columns of rows. MikroORM itself sets them only on connections that it makes.
 */
export const ormTypes: CustomTypesConfig = typesOfMikroOrm();

function typesOfMikroOrm(): CustomTypesConfig {
  const overrides = new TypeOverrides();
  const parsers = createPostgreSqlTypeParsers(parserOf(TEXT_ARRAY));
  for (const [oid, parse] of Object.entries(parsers)) overrides.setTypeParser(Number(oid), parse);
  return overrides;
}
