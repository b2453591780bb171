import { fieldPartnerAccounts, openAccounts } from "@collections/bookings";
import {
  lockCurrentCases,
  type LockedCase,
  type NumberedEvent,
  type TransitionRefusal,
  transition,
  type Trigger,
  writeCaseStates,
} from "@collections/cases";
import { publicId, transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type FieldPartner, fieldPartnersByIds, lockFieldPartnerState } from "@collections/field-partners";
import { recordAct } from "@collections/lenders";
import { creditEnded } from "./credit-ended.ts";
import { type CaseEvent, caseEvent, emitCaseEvents, type EventOrigin } from "./event.ts";

/** An operator's order: the loan and a reason. The reason is stored. */
export interface CaseOrder {
  readonly lender: { readonly id: string; readonly code: string };
  readonly loan: string;
  readonly reason: string | null;
}

/** The outcome of an order: the case after the order, or why the order was refused. */
export type CaseOrderOutcome =
  | { readonly kind: "done"; readonly caseAfter: LockedCase }
  | { readonly kind: "loan_not_found" }
  | { readonly kind: "field_partner_not_found" }
  | { readonly kind: "field_partner_suspended" }
  | { readonly kind: "refused"; readonly refusal: TransitionRefusal };

/**
 * Assigns the loan's current case to a field partner, even if it is assigned to another field partner. The order is
 * refused if the field partner is suspended. If a suspension runs at the same time, either the order commits before the
 * suspension, or the order is refused.
 *
 * @example
 * const order = { lender, loan: "LN-2026-00417", reason: null, fieldPartnerId };
 * const outcome = await assignCase(em, order, "live");
 * if (outcome.kind === "refused") console.error(outcome.refusal);
 */
export function assignCase(
  em: EntityManager,
  order: CaseOrder & { readonly fieldPartnerId: string },
  environment: string,
): Promise<CaseOrderOutcome> {
  return changeCase(em, order, { kind: "assign", fieldPartnerId: order.fieldPartnerId }, environment);
}

/**
 * Unassigns the case from its field partner.
 *
 * @example
 * const outcome = await unassignCase(em, { lender, loan: "LN-2026-00417", reason: "On leave until Monday" }, "live");
 */
export function unassignCase(em: EntityManager, order: CaseOrder, environment: string): Promise<CaseOrderOutcome> {
  return changeCase(em, order, { kind: "unassign" }, environment);
}

/**
 * Stops all contact with the borrower until the case is released.
 *
 * @example
 * const outcome = await holdCase(em, { lender, loan: "LN-2026-00417", reason: "The borrower disputes it" }, "live");
 */
export function holdCase(em: EntityManager, order: CaseOrder, environment: string): Promise<CaseOrderOutcome> {
  return changeCase(em, order, { kind: "hold", reason: order.reason }, environment);
}

/**
 * Ends a hold.
 *
 * @example
 * const outcome = await releaseCase(em, { lender, loan: "LN-2026-00417", reason: "The dispute is settled" }, "live");
 */
export function releaseCase(em: EntityManager, order: CaseOrder, environment: string): Promise<CaseOrderOutcome> {
  return changeCase(em, order, { kind: "release" }, environment);
}

/**
 * Ends the case without full payment.
 *
 * @example
 * const outcome = await closeCase(em, { lender, loan: "LN-2026-00417", reason: "The lender wrote it off" }, "live");
 * if (outcome.kind === "done") console.log(outcome.caseAfter.status);
 */
export function closeCase(em: EntityManager, order: CaseOrder, environment: string): Promise<CaseOrderOutcome> {
  return changeCase(em, order, { kind: "close", reason: order.reason }, environment);
}

type OrderTrigger = Extract<Trigger, { kind: "assign" | "unassign" | "hold" | "release" | "close" }>;

async function changeCase(
  em: EntityManager,
  order: CaseOrder,
  trigger: OrderTrigger,
  environment: string,
): Promise<CaseOrderOutcome> {
  return transaction(em, async (tx) => {
    const now = new Date();
    const { lender, loan, reason } = order;

    // Lock the case, and look up in the table of states whether the order is allowed.
    const [lockedCase] = await lockCurrentCases(tx, [{ lenderId: lender.id, loan }]);
    if (!lockedCase) return { kind: "loan_not_found" };
    if (trigger.kind === "assign") {
      const assignee = await lockFieldPartnerState(tx, trigger.fieldPartnerId);
      if (!assignee) return { kind: "field_partner_not_found" };
      if (assignee.state === "suspended") return { kind: "field_partner_suspended" };
    }
    const holders = await fieldPartnersByIds(tx, holdersOf(lockedCase, trigger));
    const verdict = transition(lockedCase, trigger, now);
    if (!verdict.allowed) return { kind: "refused", refusal: verdict.refusal };
    const { caseAfter, events } = verdict;

    // Write everything: the case, the accounts of an assigned field partner, the earnings that an ended case credits,
    // the audit entry and the events.
    writeCaseStates(tx, [caseAfter], now);
    if (trigger.kind === "assign") {
      openAccounts(tx, fieldPartnerAccounts(lender.id, trigger.fieldPartnerId, caseAfter.currency), now);
    }
    if (caseAfter.closedAt !== null) await creditEnded(tx, [caseAfter], now);
    recordAct(
      tx,
      { lenderId: lender.id, act: `case.${trigger.kind}`, reason: reason ?? undefined, data: { loan } },
      now,
    );
    const origin = { lenderCode: lender.code, environment, now };
    await emitCaseEvents(
      tx,
      events.map((event) => {
        if (!isAboutHolder(event.kind)) return caseEvent(caseAfter, { ...event, data: { reason } }, origin);
        const holderId =
          event.kind === "case.unassigned" ? lockedCase.assignedFieldPartnerId : caseAfter.assignedFieldPartnerId;
        return holderEvent(caseAfter, event, holders.get(holderId ?? ""), origin);
      }),
    );
    return { kind: "done", caseAfter };
  });
}

function holdersOf(lockedCase: LockedCase, trigger: OrderTrigger): string[] {
  const { assignedFieldPartnerId: before } = lockedCase;
  return [...(before === null ? [] : [before]), ...(trigger.kind === "assign" ? [trigger.fieldPartnerId] : [])];
}

function isAboutHolder(kind: string): boolean {
  return kind === "case.assigned" || kind === "case.unassigned";
}

/** Builds the event `case.assigned` or `case.unassigned`, which names the field partner, and notifies them. */
export function holderEvent(
  caseAfter: LockedCase,
  event: NumberedEvent,
  holder: FieldPartner | undefined,
  origin: EventOrigin,
): CaseEvent {
  const made = caseEvent(caseAfter, { ...event, data: { fieldPartner: shown(holder) } }, origin);
  return { ...made, holderId: holder?.id ?? null };
}

function shown(fieldPartner: FieldPartner | undefined): object | null {
  return fieldPartner ? { id: publicId("fp", fieldPartner.id), displayName: fieldPartner.displayName } : null;
}
