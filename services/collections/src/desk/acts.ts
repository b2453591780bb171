import { storedLoanNumber } from "@collections/cases";
import { type EntityManager, parsePublicId, publicId, transaction } from "@collections/database";
import { fieldPartnerById, InvalidFieldPartnerError, updateFieldPartner } from "@collections/field-partners";
import {
  assignCase,
  type CaseMove,
  type CaseOrderOutcome,
  closeCase,
  holdCase,
  releaseCase,
  unassignCase,
} from "@collections/flows";
import { type Lender, recordAct } from "@collections/lenders";
import { replayDelivery } from "@collections/webhooks";
import { deliveryOf } from "./deliveries.ts";
import { applyMoves, CASES_OF_HOLDER, plannedMoves, versionOf } from "./move-plan.ts";
import { shownAssignment } from "./move-tally.ts";

/** The parts that changes need. */
export interface Acting {
  readonly em: () => EntityManager;
  readonly environment: string;
  /** The lenders whose cases and events may be changed. */
  readonly lenders: () => Promise<readonly Lender[]>;
}

/** The outcome of a change, with a sentence for people if it was refused. */
export type DeskOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "not_found" }
  | { readonly kind: "refused"; readonly detail: string };

const ORDERS = { unassign: unassignCase, hold: holdCase, release: releaseCase, close: closeCase };

/** An order for the current case of a loan. An empty reason is not recorded. */
export interface DeskOrder {
  readonly lenderCode: string;
  readonly loan: string;
  readonly reason: string;
}

/** Assigns the current case of a loan to a field partner. */
export async function assignFromDesk(
  acting: Acting,
  { fieldPartnerId: given, ...order }: DeskOrder & { readonly fieldPartnerId: string },
): Promise<DeskOutcome> {
  const fieldPartnerId = parsePublicId("fp", given);
  if (fieldPartnerId === undefined) return refused("There is no such field partner.");
  const asked = await askedOf(acting, order);
  return asked ? outcomeOf(await assignCase(acting.em(), { ...asked, fieldPartnerId }, acting.environment)) : NOT_FOUND;
}

/** Unassigns, holds, releases or closes the current case of a loan. */
export async function orderFromDesk(
  acting: Acting,
  { order, ...given }: DeskOrder & { readonly order: keyof typeof ORDERS },
): Promise<DeskOutcome> {
  const asked = await askedOf(acting, given);
  return asked ? outcomeOf(await ORDERS[order](acting.em(), asked, acting.environment)) : NOT_FOUND;
}

/** Sends an event to its lender again, and records who asked for it. */
export async function replayFromDesk(
  { em, lenders }: Acting,
  { eventId: given, reason }: { readonly eventId: string; readonly reason: string },
): Promise<DeskOutcome> {
  const found = await deliveryOf(em(), await lenders(), given);
  if (!found) return NOT_FOUND;
  const { lender, delivery } = found;
  const { eventId, kind, stream: loan, state: stateBefore } = delivery;
  const replayed = await transaction(em(), async (tx) => {
    const data = { eventId: publicId("evt", eventId), kind, loan, stateBefore };
    recordAct(tx, { lenderId: lender.id, act: "delivery.replayed", reason, data });
    return replayDelivery(tx, lender.id, eventId);
  });
  return replayed ? { kind: "done" } : NOT_FOUND;
}

/** Gives a field partner a new phone number. */
export async function changePhoneFromDesk(
  { em }: Acting,
  { fieldPartnerId: given, phone, reason }: { fieldPartnerId: string; phone: string; reason: string },
): Promise<DeskOutcome> {
  const fieldPartnerId = parsePublicId("fp", given);
  if (fieldPartnerId === undefined || !(await fieldPartnerById(em(), fieldPartnerId))) return NOT_FOUND;
  try {
    await transaction(em(), (tx) => updateFieldPartner(tx, { fieldPartnerId, changes: { phone }, reason }));
    return { kind: "done" };
  } catch (error) {
    if (error instanceof InvalidFieldPartnerError) return refused(error.message);
    throw error;
  }
}

interface PlannedForLender {
  readonly lender: Lender;
  readonly moves: readonly CaseMove[];
}

/** Finds out what a move of all open cases of a person would do at each lender. Changes nothing. */
export async function planFromDesk(acting: Acting, given: { readonly from: string; readonly to: string }) {
  const planned = await planAll(acting, given);
  if ("kind" in planned) return planned;
  const lenders = await applied(acting, planned, { reason: null, dryRun: true });
  return { kind: "planned" as const, version: versionOf(planned), lenders };
}

/** Moves all open cases of a person if they are still those of the dry run with this version. */
export async function moveFromDesk(
  acting: Acting,
  { version, reason, ...given }: { from: string; to: string; version: string; reason: string },
) {
  const planned = await planAll(acting, given);
  if ("kind" in planned) return planned;
  if (versionOf(planned) !== version) {
    return refused("The cases have changed since they were shown. Look at them again, and send the form once more.");
  }
  await applied(acting, planned, { reason, dryRun: false });
  return { kind: "done" as const };
}

async function planAll(
  { em, lenders }: Acting,
  { from: givenFrom, to: givenTo }: { readonly from: string; readonly to: string },
): Promise<PlannedForLender[] | { kind: "refused"; detail: string }> {
  const [from, to] = [givenFrom, givenTo].map((id) => parsePublicId("fp", id));
  const target = to === undefined ? undefined : await fieldPartnerById(em(), to);
  if (from === undefined || !target) return refused("There is no such field partner.");
  if (target.id === from) return refused("The person has these cases already: choose another field partner.");
  if (target.state !== "active")
    return refused(`${target.displayName} is suspended: choose another field partner, or resume this one first.`);
  const planned: PlannedForLender[] = [];
  for (const lender of await lenders()) {
    const search = { holderId: from, statuses: [...CASES_OF_HOLDER] };
    const moves = await plannedMoves(em(), lender, { search, people: [target.id] });
    if (moves.length > 0) planned.push({ lender, moves });
  }
  return planned;
}

async function applied(
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

async function askedOf({ em, lenders }: Acting, { lenderCode, loan, reason }: DeskOrder) {
  const lender = (await lenders()).find(({ code }) => code === lenderCode);
  if (!lender) return undefined;
  return { lender, loan: await storedLoanNumber(em(), lender.id, loan), reason: reason === "" ? null : reason };
}

const NOT_FOUND = { kind: "not_found" } as const;

function refused(detail: string) {
  return { kind: "refused" as const, detail };
}

function outcomeOf(outcome: CaseOrderOutcome): DeskOutcome {
  switch (outcome.kind) {
    case "done":
      return { kind: "done" };
    case "loan_not_found":
      return NOT_FOUND;
    case "field_partner_not_found":
      return refused("There is no such field partner.");
    case "field_partner_suspended":
      return refused("The field partner is suspended: choose another field partner, or resume this one first.");
    case "refused":
      return refused(outcome.refusal.detail);
  }
}
