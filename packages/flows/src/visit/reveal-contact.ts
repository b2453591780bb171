import { ownCasesByIds } from "@collections/cases";
import type { Tx } from "@collections/entities";
import { type ContactReveal, recordContactReveal } from "@collections/field-partners";
import { lenderById } from "@collections/lenders";
import { fieldWorkRefusal, type FieldWorkRefusal } from "../request/field-work.ts";

/** The outcome of a request to see a borrower's contact data. */
export type RevealContactOutcome =
  | { readonly kind: "revealed" }
  /** There is no such case, or it is not assigned to this field partner. */
  | { readonly kind: "not_found" }
  | { readonly kind: "not_workable"; readonly reason: FieldWorkRefusal }
  /** The field partner has seen the contacts of the maximum number of other cases on this day. */
  | { readonly kind: "limit_reached" };

/**
 * Lets a field partner see the contact data of a workable case, and records this access permanently.
 *
 * @example
 * const dayStart = new Date("2026-11-19T18:30:00Z");
 * const reveal = { fieldPartnerId, caseId, dayStart, isRepeat: false };
 * const { kind } = await revealContact(tx, reveal, { perDay: 60 });
 */
export async function revealContact(
  tx: Tx,
  reveal: ContactReveal,
  { perDay, now = new Date() }: { readonly perDay: number; readonly now?: Date },
): Promise<RevealContactOutcome> {
  const { fieldPartnerId, caseId } = reveal;
  const theCase = (await ownCasesByIds(tx, fieldPartnerId, [caseId], now)).get(caseId);
  if (!theCase) return { kind: "not_found" };
  const lender = (await lenderById(tx, theCase.lenderId))!;
  const reason = fieldWorkRefusal(theCase, lender, now);
  if (reason !== undefined) return { kind: "not_workable", reason };
  return (await recordContactReveal(tx, reveal, perDay, now)) ? { kind: "revealed" } : { kind: "limit_reached" };
}
