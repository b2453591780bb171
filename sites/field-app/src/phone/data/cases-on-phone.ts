import type { CaseFacets, CaseRow, TextCount, WholeCase } from "./answers.ts";
import { foldedName } from "./folded-name.ts";
import type { Position } from "./position.ts";

/** A list of cases, as the query `cases` selects and sorts it. */
export interface CaseQuery {
  readonly filter: {
    readonly workable?: boolean;
    readonly lender?: readonly string[];
    readonly city?: readonly string[];
    readonly bucket?: readonly string[];
    readonly promiseDue?: object;
  };
  readonly search?: string;
  readonly sort: "PRIORITY" | "NEAR_ME" | "DAYS_PAST_DUE" | "AMOUNT";
  /** The place from which distances are measured. */
  readonly near?: Position;
}

/**
 * Selects and sorts the cases that are stored on this phone, like the query `cases` of the service. Used without a
 * network.
 *
 * @param today the present day, `YYYY-MM-DD`
 */
export function casesOnPhone(
  stored: readonly WholeCase[],
  { filter, search, sort, near }: CaseQuery,
  today: string,
): CaseRow[] {
  const rows = stored
    .filter((one) => matches(one, filter) && isFound(one, search ?? ""))
    .map((one) => ({ ...one, distanceM: distanceOf(one, near) }));
  const order = { PRIORITY: byPriority(today), NEAR_ME: byDistance, DAYS_PAST_DUE: byDaysPastDue, AMOUNT: byAmount };
  return rows.toSorted(order[sort]);
}

/** Counts the cases on this phone by lender and by the band of days past due, the greatest number first. */
export function facetsOnPhone(stored: readonly WholeCase[], filter: CaseQuery["filter"]): Omit<CaseFacets, "city"> {
  const wanted = stored.filter((one) => matches(one, filter));
  const lenders = new Map(wanted.map(({ lender }) => [lender.code, lender]));
  return {
    lender: counted(wanted.map(({ lender }) => lender.code)).map(({ value, count }) => ({
      lender: lenders.get(value)!,
      count,
    })),
    bucket: counted(wanted.flatMap(({ bucket, isShrunk }) => (bucket === null || isShrunk ? [] : bucket))),
  };
}

function counted(values: readonly string[]): TextCount[] {
  return Object.entries(Object.groupBy(values, (value) => value))
    .map(([value, same = []]) => ({ value, count: same.length }))
    .toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
}

function matches(one: WholeCase, { workable, lender, city, bucket, promiseDue }: CaseQuery["filter"]): boolean {
  const parts = new Set((one.borrower.address ?? "").split(",").map(folded));
  return (
    (workable === undefined || one.workable === workable) &&
    (lender === undefined || lender.includes(one.lender.code)) &&
    (city === undefined || (!one.isShrunk && city.some((name) => parts.has(folded(name))))) &&
    (bucket === undefined || (one.bucket !== null && bucket.includes(one.bucket))) &&
    (promiseDue === undefined || one.openPromise !== null)
  );
}

/** Whether the borrower's name contains each word, or the loan number ends with the text. */
function isFound({ borrower, loanTail, isShrunk }: WholeCase, search: string): boolean {
  const text = folded(search);
  if (text === "") return true;
  if (isShrunk) return false;
  const name = foldedName(borrower.displayName);
  const tail = folded(loanTail);
  return (
    foldedName(search)
      .split(/\s+/)
      .every((word) => name.includes(word)) ||
    text.endsWith(tail) ||
    tail.endsWith(text)
  );
}

/** Five groups: promise due today or earlier, no promise, promise due later, blocked, ended. */
function byPriority(today: string) {
  const group = ({ workable, status, openPromise }: WholeCase) => {
    if (!workable) return ENDED.has(status) ? 4 : 3;
    if (!openPromise) return 1;
    return openPromise.dueOn <= today ? 0 : 2;
  };
  return (one: WholeCase, other: WholeCase) => group(one) - group(other) || byDaysPastDue(one, other);
}

const ENDED = new Set(["COLLECTED", "CLOSED", "WITHDRAWN"]);

function byDaysPastDue(one: WholeCase, other: WholeCase): number {
  return (other.dpd ?? -1) - (one.dpd ?? -1) || byAge(one, other);
}

function byAmount(one: WholeCase, other: WholeCase): number {
  const currencies = one.outstanding.currency.localeCompare(other.outstanding.currency);
  const [less, more] = [BigInt(one.outstanding.minor), BigInt(other.outstanding.minor)];
  return currencies || (less < more ? 1 : less > more ? -1 : byAge(one, other));
}

/** The newest case first. The public id of a case begins with its time. */
function byAge(one: WholeCase, other: WholeCase): number {
  return one.caseId < other.caseId ? 1 : -1;
}

function folded(text: string): string {
  return text.trim().toLowerCase().normalize("NFC");
}

type WithDistance = WholeCase & { readonly distanceM: number | null };

/** The nearest case first. Cases without a known place come last. */
function byDistance(one: WithDistance, other: WithDistance): number {
  return (one.distanceM ?? Infinity) - (other.distanceM ?? Infinity) || byAge(one, other);
}

const EARTH_RADIUS_M = 6_371_008.8;
const DEGREE = Math.PI / 180;

/** Returns the straight-line distance from a place to the borrower's address in metres, as the service computes it. */
function distanceOf({ borrower: { position } }: WholeCase, near: Position | undefined): number | null {
  if (!near || !position) return null;
  const half = (degrees: number) => Math.sin((degrees * DEGREE) / 2) ** 2;
  const chord =
    half(position.latitude - near.latitude) +
    Math.cos(near.latitude * DEGREE) * Math.cos(position.latitude * DEGREE) * half(position.longitude - near.longitude);
  return Math.round(2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(chord))));
}
