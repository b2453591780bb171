import { defineEntity, p } from "@mikro-orm/core";

/**
 * How often one subject used one limit: `counts[n]` times at `atMs[n]`. Only processes of the previous version use this
 * table. This version counts in `rate_limits.permit_window` of `@collections/rate-limits`. A later release drops this
 * table.
 */
export const PermitWindowEntity = defineEntity({
  name: "PermitWindow",
  schema: "lenders",
  tableName: "permit_window",
  properties: {
    subject: p.text().primary(),
    limitName: p.text().primary(),
    atMs: p.array().columnType("bigint[]"),
    counts: p.array().columnType("integer[]"),
    takenAt: p.datetime().columnType("timestamptz"),
  },
});
