import { storedLoanNumber } from "@collections/cases";
import { parsePublicId, publicId, transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import {
  fieldPartnerById,
  InvalidFieldPartnerError,
  resumeFieldPartner,
  suspendFieldPartner,
  updateFieldPartner,
} from "@collections/field-partners";
import { assignCase, type CaseOrderOutcome, closeCase, holdCase, releaseCase, unassignCase } from "@collections/flows";
import { type Lender, recordAct } from "@collections/lenders";
import { replayDelivery } from "@collections/webhooks";
import { deliveryOf } from "./deliveries.ts";

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

/** Suspends a field partner, which ends every session, or lets a suspended one sign in again. */
export async function orderPersonFromDesk(
  { em }: Acting,
  { fieldPartnerId: given, order, reason }: { fieldPartnerId: string; order: "suspend" | "resume"; reason: string },
): Promise<DeskOutcome> {
  const id = parsePublicId("fp", given);
  if (id === undefined || !(await fieldPartnerById(em(), id))) return NOT_FOUND;
  const change = order === "suspend" ? suspendFieldPartner : resumeFieldPartner;
  await transaction(em(), (tx) => change(tx, id, new Date(), reason));
  return { kind: "done" };
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
