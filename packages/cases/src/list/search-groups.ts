import type { CaseStatus } from "../case/case-status.ts";
import type { CaseSearch } from "./case-search.ts";
import { INDEXED_STATUSES, type StatusGroup } from "./search-state.ts";

const UNASSIGNED = "_unassigned";
const ALL = (["open", ...INDEXED_STATUSES] as const).flatMap((name) => both(name));

/** Returns the smallest groups that together contain all cases with the statuses and the field partner of a search. */
export function groupsOf({ statuses, holderId }: CaseSearch): readonly StatusGroup[] {
  const groups = statuses?.flatMap(groupsOfStatus) ?? ALL;
  const isFound = (group: StatusGroup) => holderId === undefined || group.endsWith(UNASSIGNED) === (holderId === null);
  return [...new Set(groups)].filter(isFound);
}

/** Returns the band of a number of days past due: 0 for 0 days, 1 for 1 to 30, 2 for 31 to 60, and so on. */
export function bandOf(dpd: number): number {
  return Math.trunc((dpd + 29) / 30);
}

function groupsOfStatus(status: CaseStatus): readonly StatusGroup[] {
  switch (status) {
    // Every transition to `new` leaves the case unassigned, and every transition to `assigned` names a field partner.
    case "new":
      return [`open${UNASSIGNED}`];
    case "assigned":
      return ["open"];
    case "in_progress":
    case "collected":
      return both("open");
    case "on_hold":
    case "closed":
    case "withdrawn":
      return both(status);
    default:
      return status satisfies never;
  }
}

function both(name: "open" | (typeof INDEXED_STATUSES)[number]): StatusGroup[] {
  return [name, `${name}${UNASSIGNED}`];
}
