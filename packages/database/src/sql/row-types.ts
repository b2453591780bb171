import { type CustomTypesConfig, TypeOverrides, types } from "pg";

/** date, timestamp, timestamptz and interval. */
const TIMES = [1082, 1114, 1184, 1186];
const ARRAYS_OF_TIMES = [1182, 1115, 1185, 1187];
const TEXT_ARRAY = 1009;

/**
 * The parsers of queries that are no statements, such as those of MikroORM: dates and times stay text, because each of its
 * entities knows its own type. All other types are parsed as by `pg`.
 */
export const rowTypes: CustomTypesConfig = timesAsText();

function timesAsText(): CustomTypesConfig {
  const overrides = new TypeOverrides();
  const parseTexts = (types.getTypeParser as (oid: number) => (text: string) => string[])(TEXT_ARRAY);
  for (const oid of TIMES) overrides.setTypeParser(oid, String);
  for (const oid of ARRAYS_OF_TIMES) overrides.setTypeParser(oid, parseTexts);
  return overrides;
}
