import { parsePublicId } from "@collections/database";
import { type FieldPartner, fieldPartnerById } from "@collections/field-partners";
import type { CaseMove, SpreadRule } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import type { Acting } from "../acts.ts";
import { peopleNamed, personNamed } from "../people.ts";
import { applyMoves, CASES_OF_HOLDER, plannedMoves, UNBLOCKED, versionOf } from "./move-plan.ts";
import { shownAssignment } from "./move-tally.ts";

/** The most field partners over whom a form spreads cases. */
const MOST_PEOPLE = 50;

/** A move of all open cases of a person to another one. The ids are public ids. */
export interface MoveOfPerson {
  readonly from: string;
  readonly to: string;
}

/** A spread of the unassigned cases of a lender over field partners. */
export interface SpreadOfLender {
  readonly lenderCode: string;
  readonly by: string;
  /** A name, phone or id for each person. */
  readonly people: readonly string[];
}

interface PlannedForLender {
  readonly lender: Lender;
  readonly moves: readonly CaseMove[];
}

type Refused = { readonly kind: "refused"; readonly detail: string };

/** Finds out what a move of all open cases of a person would do at each lender. Changes nothing. */
export async function planFromDesk(acting: Acting, given: MoveOfPerson) {
  const planned = await planMove(acting, given);
  return "kind" in planned ? planned : rehearsed(acting, planned);
}

/** Moves all open cases of a person if they are still those of the dry run with this version. */
export async function moveFromDesk(
  acting: Acting,
  { version, reason, ...given }: MoveOfPerson & { version: string; reason: string },
) {
  const planned = await planMove(acting, given);
  return "kind" in planned ? planned : applied(acting, planned, { version, reason });
}

/**
 * Finds out how many of the unassigned cases of a lender each field partner would get. Changes nothing. `unclear`: `text`
 * names no field partner, or each of `found`.
 */
export async function planSpreadFromDesk(acting: Acting, given: SpreadOfLender) {
  const named = await peopleOf(acting, given.people);
  if (named.kind !== "people") return named;
  const planned = await planSpread(acting, { ...given, people: named.people });
  if ("kind" in planned) return planned;
  const shown = await Promise.all(named.people.map((id) => personNamed(acting.em(), id)));
  return { ...(await rehearsed(acting, planned)), people: shown.filter((person) => person !== undefined) };
}

/** Spreads the unassigned cases of a lender if they are still those of the dry run with this version. */
export async function spreadFromDesk(
  acting: Acting,
  { version, reason, ...given }: SpreadOfLender & { version: string; reason: string },
) {
  const planned = await planSpread(acting, given);
  return "kind" in planned ? planned : applied(acting, planned, { version, reason });
}

async function planMove({ em, lenders }: Acting, given: MoveOfPerson): Promise<PlannedForLender[] | Refused> {
  const from = parsePublicId("fp", given.from);
  if (from === undefined) return refused("There is no such field partner.");
  const target = await activePerson({ em }, given.to);
  if ("kind" in target) return target;
  if (target.id === from) return refused("The person has these cases already: choose another field partner.");
  const planned: PlannedForLender[] = [];
  for (const lender of await lenders()) {
    const search = { holderId: from, statuses: [...CASES_OF_HOLDER] };
    const moves = await plannedMoves(em(), lender, { search, people: [target.id] });
    if (moves.length > 0) planned.push({ lender, moves });
  }
  return planned;
}

/** Plans a spread over people with public ids. */
async function planSpread(
  { em, lenders }: Acting,
  { lenderCode, by, people: given }: SpreadOfLender,
): Promise<PlannedForLender[] | Refused> {
  const lender = (await lenders()).find(({ code }) => code === lenderCode);
  if (!lender) return refused("There is no such lender.");
  if (!isSpreadRule(by)) return refused("Choose what is evened out: the amounts, or the postal codes.");
  const people: string[] = [];
  for (const id of given) {
    const person = await activePerson({ em }, id);
    if ("kind" in person) return person;
    people.push(person.id);
  }
  const problem = problemOf(people);
  if (problem !== undefined) return refused(problem);
  const search = { holderId: null, statuses: [...UNBLOCKED] };
  const moves = await plannedMoves(em(), lender, { search, people, by });
  return moves.length > 0 ? [{ lender, moves }] : [];
}

function isSpreadRule(by: string): by is SpreadRule {
  return by === "postal-code" || by === "amount";
}

function problemOf(people: readonly string[]): string | undefined {
  if (people.length === 0) return "Name at least one field partner.";
  if (people.length > MOST_PEOPLE) return `Name at most ${MOST_PEOPLE} field partners.`;
  return new Set(people).size < people.length ? "A field partner is named twice." : undefined;
}

/** Returns the public id of the one person that each text names. */
async function peopleOf({ em }: Acting, texts: readonly string[]) {
  if (texts.length > MOST_PEOPLE) return refused(`Name at most ${MOST_PEOPLE} field partners.`);
  const people: string[] = [];
  for (const text of texts) {
    const found = (await peopleNamed(em(), text)) ?? [];
    const [only, ...others] = found;
    if (only === undefined || others.length > 0) return { kind: "unclear" as const, text, found };
    people.push(only.fieldPartnerId);
  }
  return { kind: "people" as const, people };
}

async function activePerson({ em }: Pick<Acting, "em">, given: string): Promise<FieldPartner | Refused> {
  const id = parsePublicId("fp", given);
  const person = id === undefined ? undefined : await fieldPartnerById(em(), id);
  if (!person) return refused("There is no such field partner.");
  if (person.state === "active") return person;
  return refused(`${person.displayName} is suspended: choose another field partner, or resume this one first.`);
}

async function rehearsed(acting: Acting, planned: readonly PlannedForLender[]) {
  const lenders = await applyAll(acting, planned, { reason: null, dryRun: true });
  return { kind: "planned" as const, version: versionOf(planned), lenders };
}

async function applied(
  acting: Acting,
  planned: readonly PlannedForLender[],
  { version, reason }: { readonly version: string; readonly reason: string },
) {
  if (versionOf(planned) !== version) {
    return refused("The cases have changed since they were shown. Look at them again, and send the form once more.");
  }
  await applyAll(acting, planned, { reason, dryRun: false });
  return { kind: "done" as const };
}

async function applyAll(
  { em, environment }: Acting,
  planned: readonly PlannedForLender[],
  run: { readonly reason: string | null; readonly dryRun: boolean },
) {
  const shown = [];
  for (const one of planned) {
    const tally = await applyMoves(em, one, { ...run, environment });
    shown.push(shownAssignment(one.lender, tally, run.dryRun));
  }
  return shown;
}

function refused(detail: string): Refused {
  return { kind: "refused", detail };
}
