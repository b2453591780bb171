import { createHash } from "node:crypto";
import type { CaseSearch } from "@collections/cases";
import type { EntityManager } from "@collections/entities";
import {
  assignCases,
  type CaseMove,
  type CaseOfPerson,
  MAX_MOVES,
  searchCases,
  type SearchedCase,
  spreadCases,
  type SpreadRule,
} from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { MoveTally } from "./move-tally.ts";

const PAGE = 1_000;

/** The statuses of cases that can be assigned. */
export const UNBLOCKED = ["new", "assigned", "in_progress"] as const;
/** The statuses of cases that leave with a person. A case on hold is shown as refused, so that it is not forgotten. */
export const CASES_OF_HOLDER = [...UNBLOCKED, "on_hold"] as const;

/** Which cases to move, and the people who get them. */
export interface WantedMoves {
  readonly search: CaseSearch;
  /** Ids of field partners. Without `by` the first gets all cases. */
  readonly people: readonly string[];
  readonly by?: SpreadRule | undefined;
  readonly onProgress?: (found: number) => void;
}

/** Searches the cases once and plans their moves, so that the run does what its dry run has shown. */
export async function plannedMoves(em: EntityManager, lender: Lender, wanted: WantedMoves): Promise<CaseMove[]> {
  const { search, people, by, onProgress } = wanted;
  const found = await searchAll(em, lender, search, onProgress);
  const cases = found.map(({ sourceLoanNumber: loan, ...one }) => ({ loan, ...one }));
  const had = by === "postal-code" ? await casesOf(em, lender, people, found) : [];
  const targets = by
    ? spreadCases(cases, people, by, had)
    : cases.map(({ loan }) => ({ loan, fieldPartnerId: people[0]! }));
  const holders = new Map(found.map((one) => [one.sourceLoanNumber, one.assignedFieldPartnerId]));
  return targets.map((target) => ({ ...target, plannedFrom: holders.get(target.loan) ?? null }));
}

/** Returns a text that changes when other cases are moved, or to other people. */
export function versionOf(plans: readonly { readonly lender: Lender; readonly moves: readonly CaseMove[] }[]): string {
  const hash = createHash("sha256");
  for (const { lender, moves } of plans) {
    const planned = moves.map(({ loan, fieldPartnerId, plannedFrom }) => [loan, fieldPartnerId, plannedFrom]);
    hash.update(JSON.stringify([lender.code, planned]));
  }
  return hash.digest("base64url");
}

/** How to apply planned moves. */
export interface MoveRun {
  readonly reason: string | null;
  readonly dryRun: boolean;
  readonly environment: string;
}

/** Applies moves in transactions of limited size, or finds out in a dry run what they would do. */
export async function applyMoves(
  em: () => EntityManager,
  { lender, moves }: { readonly lender: Lender; readonly moves: readonly CaseMove[] },
  { reason, dryRun, environment }: MoveRun,
): Promise<MoveTally> {
  const tally = new MoveTally();
  for (let first = 0; first < moves.length; first += MAX_MOVES) {
    const batch = moves.slice(first, first + MAX_MOVES);
    const outcomes = await assignCases(em(), { lender, moves: batch, reason, dryRun }, environment);
    for (const [place, outcome] of outcomes.entries()) tally.add(batch[place]!.loan, outcome);
  }
  await tally.nameThePeople(em());
  return tally;
}

/** Returns the open cases that these people have, except cases that are to be moved. */
async function casesOf(
  em: EntityManager,
  lender: Lender,
  people: readonly string[],
  moved: readonly SearchedCase[],
): Promise<CaseOfPerson[]> {
  const ids = new Set(moved.map(({ id }) => id));
  const had: CaseOfPerson[] = [];
  for (const person of people) {
    const found = await searchAll(em, lender, { holderId: person, statuses: [...UNBLOCKED] });
    const kept = found.filter(({ id }) => !ids.has(id));
    had.push(...kept.map(({ postalCode }) => ({ fieldPartnerId: person, postalCode })));
  }
  return had;
}

async function searchAll(
  em: EntityManager,
  lender: Lender,
  search: CaseSearch,
  onProgress?: (found: number) => void,
): Promise<SearchedCase[]> {
  const found: SearchedCase[] = [];
  let after = null;
  do {
    const page = await searchCases(em, search, { lenders: [lender], after, limit: PAGE });
    found.push(...page.items);
    onProgress?.(found.length);
    after = page.next;
  } while (after !== null);
  return found;
}
