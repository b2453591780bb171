import { defineEntity, p } from "@mikro-orm/core";
import type { CaseStatus } from "../case/case-status.ts";

/** The statuses that payments set, also on cases that an operator has not touched. */
export const STATUSES_SET_BY_PAYMENTS = [
  "assigned",
  "in_progress",
  "collected",
] as const satisfies readonly CaseStatus[];

export type StatusSetByPayments = (typeof STATUSES_SET_BY_PAYMENTS)[number];

/** A status that few current cases of a lender have, so that `cases.rare_case` lists them. */
export const RareStatusEntity = defineEntity({
  name: "RareStatus",
  tableName: "rare_status",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    status: p.text().$type<StatusSetByPayments>().primary(),
    /** When triggers began to write the cases that get the status. */
    since: p.datetime().columnType("timestamptz"),
    /** Whether `cases.rare_case` has every current case with the status, also from before `since`. */
    complete: p.boolean(),
  },
});

/** A case with a rare status. Triggers write the rows. A row may remain after the case has got another status. */
export const RareCaseEntity = defineEntity({
  name: "RareCase",
  tableName: "rare_case",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    status: p.text().$type<StatusSetByPayments>().primary(),
    caseId: p.uuid().primary(),
  },
});
