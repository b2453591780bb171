import { closest, distance } from "fastest-levenshtein";
import type { FieldContext } from "./field-readers.ts";
import { pointerTo } from "./row-fault.ts";

/** Enough to see the mistake, and few enough that a hostile row does not come back longer than it was. */
const MAX_WARNINGS_PER_OBJECT = 20;
const LONGEST_NAME = 64;

/** Names of a case's record that the service sets: lenders send them back from what they have read. */
const READ_ONLY: ReadonlySet<string> = new Set([
  "caseId",
  "cycle",
  "status",
  "statusReason",
  "fieldWork",
  "placedAmount",
  "totalCollected",
  "excessAmount",
  "lastPaymentAt",
  "sequence",
  "createdAt",
  "updatedAt",
  "closedAt",
  "closeReason",
]);

/** Warns of the fields that nobody reads, each with the known name that it may have meant. */
export function warnOfUnknown(
  value: Readonly<Record<string, unknown>>,
  context: Pick<FieldContext, "pointer" | "warnings">,
  known: ReadonlySet<string>,
): void {
  const unknown = Object.keys(value).filter((name) => !known.has(name));
  for (const name of unknown.slice(0, MAX_WARNINGS_PER_OBJECT)) {
    const pointer = pointerTo(context.pointer, name.slice(0, LONGEST_NAME).toWellFormed());
    if (READ_ONLY.has(name)) {
      context.warnings.push({ code: "READ_ONLY_FIELD", pointer, detail: `${name} is set by the service; ignored.` });
      continue;
    }
    const nearest = nearestName(name, known);
    const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
    context.warnings.push({ code: "UNKNOWN_FIELD", pointer, detail: `Not a field of this object; ignored.${hint}` });
  }
}

/**
 * The known name that a misspelt one most likely meant, if any is near.
 *
 * @example
 * nearestName("borowerName", new Set(["borrowerName", "borrowerPhone"])); // "borrowerName"
 */
export function nearestName(name: string, known: ReadonlySet<string>): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  const spelling = name.toLowerCase().replaceAll(/[_\- ]/g, "");
  const bySpelling = new Map([...known].map((candidate) => [candidate.toLowerCase(), candidate]));
  const nearest = closest(spelling, [...bySpelling.keys()]);
  return distance(spelling, nearest) <= Math.max(2, Math.floor(spelling.length / 3))
    ? bySpelling.get(nearest)
    : undefined;
}
