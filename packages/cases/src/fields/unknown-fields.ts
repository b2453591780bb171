import { closest, distance } from "fastest-levenshtein";
import type { FieldContext } from "./field-readers.ts";
import { pointerTo } from "./row-fault.ts";

/**
 * The maximum number of warnings that are reported for one row. Without a limit, the answer could be many times as long
 * as the request.
 */
const MAX_WARNINGS_PER_ROW = 20;
const LONGEST_NAME = 64;

/** Fields of a case that only the service sets. Lenders send them back when they copy an answer of the API. */
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

/**
 * Adds a warning for each unknown or read-only field, up to a limit. The warning of an unknown field suggests the known
 * field with the nearest name.
 */
export function warnOfUnknown(
  value: Readonly<Record<string, unknown>>,
  context: Pick<FieldContext, "pointer" | "warnings">,
  known: ReadonlySet<string>,
): void {
  const unknown = Object.keys(value).filter((name) => !known.has(name));
  const room = Math.max(0, MAX_WARNINGS_PER_ROW - context.warnings.length);
  for (const name of unknown.slice(0, room)) {
    const pointer = pointerTo(context.pointer, name.slice(0, LONGEST_NAME).toWellFormed());
    if (READ_ONLY.has(name)) {
      context.warnings.push({
        code: "READ_ONLY_FIELD",
        pointer,
        detail: `Only the service sets ${name}; the value was ignored.`,
      });
      continue;
    }
    const nearest = nearestName(name, known);
    const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
    context.warnings.push({
      code: "UNKNOWN_FIELD",
      pointer,
      detail: `This object has no such field; the value was ignored.${hint}`,
    });
  }
}

/**
 * Returns the known name that is nearest to a misspelt name, or undefined if no known name is similar enough.
 *
 * @example
 * nearestName("borowerName", new Set(["borrowerName", "borrowerPhone"])); // "borrowerName"
 */
export function nearestName(name: string, known: ReadonlySet<string>): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  const spelling = name.toLowerCase().replaceAll(/[_\- ]/g, "");
  const { spellings, names } = spellingsOf(known);
  const nearest = closest(spelling, spellings);
  return distance(spelling, nearest) <= Math.max(2, Math.floor(spelling.length / 3)) ? names.get(nearest) : undefined;
}

interface Spellings {
  readonly spellings: readonly string[];
  readonly names: ReadonlyMap<string, string>;
}

const spellingsOfSets = new WeakMap<ReadonlySet<string>, Spellings>();

/** Returns the known names in lower case, with a map to their original spelling. The result is cached for each set. */
function spellingsOf(known: ReadonlySet<string>): Spellings {
  const made = spellingsOfSets.get(known);
  if (made) return made;
  const names = new Map([...known].map((name) => [name.toLowerCase(), name]));
  const spellings = { spellings: [...names.keys()], names };
  spellingsOfSets.set(known, spellings);
  return spellings;
}
