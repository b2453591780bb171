import { fieldPartnerAccounts, openAccounts } from "@collections/bookings";
import { lockCurrentCases, type LockedCase, transition, type Trigger, writeCaseStates } from "@collections/cases";
import type { EntityManager, Tx } from "@collections/entities";
import { type FieldPartner, fieldPartnersByIds, lockFieldPartnerState } from "@collections/field-partners";
import { recordAct } from "@collections/lenders";
import { commitUnlessDryRun } from "../dry-run.ts";
import { holderEvent } from "./change-case.ts";
import { type CaseEvent, emitCaseEvents } from "./event.ts";

/** A case to give to a field partner. */
export interface CaseMove {
  readonly loan: string;
  /** The field partner who gets the case; null takes the case away from its field partner. */
  readonly fieldPartnerId: string | null;
  /**
   * The field partner of the case when the move was planned; null if the case was unassigned. The move is refused if
   * the case has another field partner now. If absent, the case is moved, whichever field partner has it.
   */
  readonly plannedFrom?: string | null;
}

/** Moves of cases of one lender, at most MAX_MOVES, each loan at most once. */
export interface CaseMoves {
  readonly lender: { readonly id: string; readonly code: string };
  readonly moves: readonly CaseMove[];
  /** The reason, for the audit. */
  readonly reason: string | null;
  /** Returns the outcomes, and changes nothing. */
  readonly dryRun: boolean;
}

/** The outcome of one move. A case that the field partner already has is `unchanged`. */
export type CaseMoveOutcome =
  | { readonly kind: "assigned" | "unassigned" | "unchanged"; readonly caseAfter: LockedCase }
  | { readonly kind: "refused"; readonly code: string; readonly detail: string };

/**
 * The maximum number of moves in one transaction. Their cases are locked until it commits, and confirmations wait for
 * these locks.
 *
 * @example
 * const moves = ["LN-1001", "LN-1002"].map((loan) => ({ loan, fieldPartnerId }));
 * const first = moves.slice(0, MAX_MOVES);
 */
export const MAX_MOVES = 200;

/**
 * Assigns and unassigns many cases of a lender in one transaction, with the same checks, audit entries and events as
 * `assignCase` and `unassignCase`. Returns the outcomes in the order of the moves. A refused move does not stop the others.
 *
 * @example
 * const moves = [{ loan: "LN-1001", fieldPartnerId }, { loan: "LN-1002", fieldPartnerId: null }];
 * const outcomes = await assignCases(em, { lender, moves, reason: "Asha is on leave", dryRun: false }, "live");
 * const refused = outcomes.filter(({ kind }) => kind === "refused");
 */
export function assignCases(em: EntityManager, order: CaseMoves, environment: string): Promise<CaseMoveOutcome[]> {
  return commitUnlessDryRun(em, order.dryRun, (tx) => assignCasesIn(tx, order, environment));
}

/**
 * Does the same as `assignCases` in the caller's transaction. The caller may have locked the cases, but no field partner.
 *
 * @example
 * const moves = [{ loan: "LN-1001", fieldPartnerId }];
 * const [outcome] = await assignCasesIn(tx, { lender, moves, reason: null }, "live");
 * const isAssigned = outcome?.kind === "assigned";
 */
export async function assignCasesIn(
  tx: Tx,
  { lender, moves, reason }: Omit<CaseMoves, "dryRun">,
  environment: string,
): Promise<CaseMoveOutcome[]> {
  const now = new Date();
  const keys = moves.map(({ loan }) => ({ lenderId: lender.id, loan }));
  const lockedCases = new Map((await lockCurrentCases(tx, keys)).map((one) => [one.sourceLoanNumber, one]));
  const assignees = await lockAssignees(tx, moves);
  const holders = await fieldPartnersByIds(tx, [
    ...new Set([...lockedCases.values()].flatMap(({ assignedFieldPartnerId: id }) => (id === null ? [] : [id]))),
  ]);

  const origin = { lenderCode: lender.code, environment, now };
  const casesAfter: LockedCase[] = [];
  const emitted: CaseEvent[] = [];
  const outcomes = moves.map((move): CaseMoveOutcome => {
    const lockedCase = lockedCases.get(move.loan);
    const refusal = refusalOf(move, lockedCase, assignees);
    if (refusal || !lockedCase) return refusal ?? loanNotFound(move);
    if (lockedCase.assignedFieldPartnerId === move.fieldPartnerId) return { kind: "unchanged", caseAfter: lockedCase };
    const trigger = triggerOf(move);
    const verdict = transition(lockedCase, trigger, now);
    if (!verdict.allowed) return refused(verdict.refusal.code, verdict.refusal.detail);
    const { caseAfter, events } = verdict;
    casesAfter.push(caseAfter);
    for (const event of events) {
      const holderId = event.kind === "case.unassigned" ? lockedCase.assignedFieldPartnerId : move.fieldPartnerId;
      const holder = assignees.get(holderId ?? "") ?? holders.get(holderId ?? "");
      emitted.push(holderEvent(caseAfter, event, holder, origin));
    }
    recordAct(
      tx,
      {
        lenderId: lender.id,
        act: `case.${trigger.kind}`,
        reason: reason ?? undefined,
        data: { loan: move.loan },
      },
      now,
    );
    return { kind: trigger.kind === "assign" ? "assigned" : "unassigned", caseAfter };
  });
  if (casesAfter.length === 0) return outcomes;

  writeCaseStates(tx, casesAfter, now);
  openAccounts(tx, accountsOf(lender.id, casesAfter), now);
  await emitCaseEvents(tx, emitted);
  return outcomes;
}

/** Locks the states of the field partners who get cases, in the order of their ids, so that two runs cannot deadlock. */
async function lockAssignees(tx: Tx, moves: readonly CaseMove[]): Promise<Map<string, FieldPartner>> {
  const ids = new Set(moves.flatMap(({ fieldPartnerId: id }) => (id === null ? [] : [id])));
  const assignees = new Map<string, FieldPartner>();
  for (const id of [...ids].toSorted()) {
    const assignee = await lockFieldPartnerState(tx, id);
    if (assignee) assignees.set(id, assignee);
  }
  return assignees;
}

function refusalOf(
  move: CaseMove,
  lockedCase: LockedCase | undefined,
  assignees: ReadonlyMap<string, FieldPartner>,
): CaseMoveOutcome | undefined {
  const { fieldPartnerId, plannedFrom } = move;
  if (!lockedCase) return loanNotFound(move);
  const holderId = lockedCase.assignedFieldPartnerId;
  if (fieldPartnerId !== null) {
    const assignee = assignees.get(fieldPartnerId);
    if (!assignee) return refused("FIELD_PARTNER_NOT_FOUND", "There is no such field partner.");
    if (assignee.state === "suspended") {
      return refused("FIELD_PARTNER_SUSPENDED", `Field partner ${assignee.displayName} is suspended.`);
    }
  }
  if (plannedFrom !== undefined && holderId !== plannedFrom && holderId !== fieldPartnerId) {
    return refused("HOLDER_CHANGED", "The case got another field partner after the move was planned.");
  }
  return undefined;
}

function loanNotFound({ loan }: CaseMove): CaseMoveOutcome {
  return refused("LOAN_NOT_FOUND", `There is no loan ${loan}.`);
}

function refused(code: string, detail: string): CaseMoveOutcome {
  return { kind: "refused", code, detail };
}

function triggerOf({ fieldPartnerId }: CaseMove): Extract<Trigger, { kind: "assign" | "unassign" }> {
  return fieldPartnerId === null ? { kind: "unassign" } : { kind: "assign", fieldPartnerId };
}

/** Returns the accounts that the new holders need, each once. */
function accountsOf(lenderId: string, casesAfter: readonly LockedCase[]) {
  const holders = new Map(
    casesAfter.flatMap(({ assignedFieldPartnerId: id, currency }) =>
      id === null ? [] : [[`${id}/${currency}`, { id, currency }] as const],
    ),
  );
  return [...holders.values()].flatMap(({ id, currency }) => fieldPartnerAccounts(lenderId, id, currency));
}
