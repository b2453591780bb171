import { defineEntity, p } from "@mikro-orm/core";
import type { CaseStatus } from "../case/case-status.ts";

/**
 * The parts of a current case that a search finds by an index, and that payments and daily imports seldom change.
 * Triggers write the rows.
 */
export const SearchStateEntity = defineEntity({
  name: "SearchState",
  tableName: "search_state",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    caseId: p.uuid().primary(),
    /** One of `INDEXED_STATUSES`. Null if the case has another status. */
    status: p.text().$type<CaseStatus>().strictNullable(),
    /** The band of 30 days of `dpd`: 0 for 0 days, 1 for 1 to 30, 2 for 31 to 60, and so on. */
    dpdBand: p.integer().strictNullable(),
    /**
     * When the service received the start of the latest visit; -infinity before the first visit. Null if the case is of
     * an earlier cycle.
     */
    visitedAt: p.datetime().columnType("timestamptz").defaultRaw("'-infinity'").strictNullable(),
    /** Null if the case is of an earlier cycle. */
    statusGroup: p.text().$type<StatusGroup>().strictNullable(),
  },
});

/** The statuses that `cases.search_state` contains: those that no payment sets, except those with other indexes. */
export const INDEXED_STATUSES = ["on_hold", "closed", "withdrawn"] as const satisfies readonly CaseStatus[];

/** The status of a case, or `open` for a status that payments set, and whether no field partner has the case. */
export type StatusGroup = `${"open" | (typeof INDEXED_STATUSES)[number]}${"" | "_unassigned"}`;
