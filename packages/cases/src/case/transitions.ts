import type { CaseEventKind, CaseStatus, CloseReason, FieldWork, NumberedEvent } from "./case-status.ts";

/** The part of a case that determines its next state. */
export interface CaseState {
  readonly status: CaseStatus;
  readonly statusReason: string | null;
  /**
   * The status that the case gets when its hold is released; null unless the case is on hold. During the hold, `status`
   * is `on_hold`, or `in_progress` after a payment.
   */
  readonly statusBeforeHold: CaseStatus | null;
  readonly fieldWork: FieldWork;
  /** When field work was blocked; null while it is open. */
  readonly blockedAt: Date | null;
  /** Whether the case has had a visit, a link or a payment. */
  readonly workBegun: boolean;
  readonly assignedFieldPartnerId: string | null;
  /**
   * When the case was assigned to its current field partner. Null if the case is unassigned, or was assigned by an
   * older version of the service, which did not store this time.
   */
  readonly assignedSince: Date | null;
  readonly settledByLender: boolean;
  /** When the case ended; null before. A later payment that does not clear the case does not change this time. */
  readonly closedAt: Date | null;
  readonly closeReason: CloseReason | null;
  /** The number of the loan's last event. */
  readonly sequence: bigint;
}

/** The events and orders that may change the state of a case. `reason` is free text. */
export type Trigger =
  | { readonly kind: "assign"; readonly fieldPartnerId: string }
  | { readonly kind: "unassign" }
  | {
      readonly kind: "start_visit";
      readonly fieldPartnerId: string;
      readonly occurredAt: Date;
      /** True if the case was assigned to this field partner at `occurredAt`, but no longer is. */
      readonly wasTheirs?: boolean;
    }
  | { readonly kind: "create_link" }
  | { readonly kind: "hold"; readonly reason: string | null }
  | { readonly kind: "release" }
  | { readonly kind: "payment_leaves_rest" }
  | { readonly kind: "payment_clears" }
  /** An import row's balance is above 0, but payments that were captured after `outstandingAsOf` reduce it to 0. */
  | { readonly kind: "later_payments_clear" }
  /** A payment was reversed, and the status of the case stays. */
  | { readonly kind: "reverse_payment" }
  /** A reversal leaves an amount outstanding on a collected case. `keepsHolder`: the field partner is still active. */
  | { readonly kind: "reopen"; readonly keepsHolder: boolean }
  /** A balance is above 0 after all later payments of a collected case: the debt was larger than known. */
  | { readonly kind: "reopen_by_balance"; readonly keepsHolder: boolean }
  | { readonly kind: "close"; readonly reason: string | null }
  | { readonly kind: "settle"; readonly reason: string | null }
  | { readonly kind: "withdraw"; readonly reason: string | null };

/** The reasons why a transition is refused. */
export type TransitionRefusalCode =
  | "CASE_ENDED"
  | "CASE_ON_HOLD"
  | "ALREADY_ON_HOLD"
  | "NOT_ON_HOLD"
  | "ALREADY_ASSIGNED"
  | "NOT_ASSIGNED";

/** Why a transition is refused: a code, and a sentence for people. */
export interface TransitionRefusal {
  readonly code: TransitionRefusalCode;
  readonly detail: string;
}

/** The case after the trigger and the events to emit in this order, or why the transition is refused. */
export type Verdict<C extends CaseState> =
  | { readonly allowed: true; readonly caseAfter: C; readonly events: readonly NumberedEvent[] }
  | { readonly allowed: false; readonly refusal: TransitionRefusal };

/** One row of the table of states. `when` lists further conditions, besides the status `from`. */
interface Transition {
  readonly from: readonly CaseStatus[];
  readonly trigger: Trigger["kind"];
  readonly when?: readonly (keyof typeof CONDITIONS)[];
  readonly to: CaseStatus | "same" | "before_hold";
  readonly events: readonly CaseEventKind[];
}

const OPEN: readonly CaseStatus[] = ["new", "assigned", "in_progress", "on_hold"];
const UNPAID: readonly CaseStatus[] = [...OPEN, "closed", "withdrawn"];
const ANY: readonly CaseStatus[] = [...UNPAID, "collected"];
const WORKED: readonly CaseStatus[] = ["assigned", "in_progress"];

/**
 * All transitions. The first row that matches decides. Two transitions create a case: by a loan's first import row, and
 * by an import row after the end of a case. They are in `planRow`, because there is no case to start from.
 */
const TRANSITIONS: readonly Transition[] = [
  { from: ["new"], trigger: "assign", to: "assigned", events: ["case.assigned"] },
  {
    from: ["in_progress"],
    trigger: "assign",
    when: ["field_work_open", "unassigned"],
    to: "in_progress",
    events: ["case.assigned"],
  },
  {
    from: WORKED,
    trigger: "assign",
    when: ["field_work_open", "assigned_to_another"],
    to: "same",
    events: ["case.unassigned", "case.assigned"],
  },
  {
    from: WORKED,
    trigger: "unassign",
    when: ["not_ended", "assigned", "work_begun"],
    to: "in_progress",
    events: ["case.unassigned"],
  },
  { from: WORKED, trigger: "unassign", when: ["not_ended", "assigned"], to: "new", events: ["case.unassigned"] },
  // A case can be `new` here if it was unassigned after the visit had started, but before the service received the
  // start.
  {
    from: ["new", ...WORKED],
    trigger: "start_visit",
    when: ["field_work_open", "theirs"],
    to: "in_progress",
    events: ["visit.started"],
  },
  // A phone without a network may report the start of a visit late. A visit that was allowed when it started is always
  // recorded.
  {
    from: ANY,
    trigger: "start_visit",
    when: ["theirs", "before_the_block"],
    to: "same",
    events: ["visit.started"],
  },
  { from: ["assigned"], trigger: "create_link", to: "in_progress", events: ["payment_link.created"] },
  // The lender can return a link after the case was put on hold or has ended. The link exists, so the event is emitted.
  { from: ANY, trigger: "create_link", to: "same", events: ["payment_link.created"] },
  {
    from: ["new", "assigned", "in_progress"],
    trigger: "hold",
    when: ["not_ended"],
    to: "on_hold",
    events: ["case.held"],
  },
  {
    from: ["on_hold", "in_progress"],
    trigger: "release",
    when: ["not_ended", "held"],
    to: "before_hold",
    events: ["case.released"],
  },
  { from: UNPAID, trigger: "payment_leaves_rest", to: "in_progress", events: ["payment.collected"] },
  { from: UNPAID, trigger: "payment_clears", to: "collected", events: ["payment.collected", "case.closed"] },
  { from: ["collected"], trigger: "payment_clears", to: "same", events: ["payment.collected"] },
  // Only `case.closed` is emitted: the `payment.collected` events were emitted when the payments were booked.
  { from: OPEN, trigger: "later_payments_clear", when: ["not_ended"], to: "collected", events: ["case.closed"] },
  { from: ANY, trigger: "reverse_payment", to: "same", events: ["payment.reversed"] },
  { from: ["collected"], trigger: "reopen", to: "in_progress", events: ["payment.reversed", "case.reopened"] },
  { from: ["collected"], trigger: "reopen_by_balance", to: "in_progress", events: ["case.reopened"] },
  { from: OPEN, trigger: "close", when: ["not_ended"], to: "closed", events: ["case.returned"] },
  { from: OPEN, trigger: "settle", when: ["not_ended"], to: "closed", events: ["case.returned"] },
  { from: OPEN, trigger: "withdraw", when: ["not_ended"], to: "withdrawn", events: ["case.withdrawn"] },
];

const CONDITIONS = {
  not_ended: (state: CaseState) => state.closedAt === null,
  field_work_open: (state: CaseState) => state.fieldWork === "open",
  held: (state: CaseState) => state.statusBeforeHold !== null,
  work_begun: (state: CaseState) => state.workBegun,
  assigned: (state: CaseState) => state.assignedFieldPartnerId !== null,
  unassigned: (state: CaseState) => state.assignedFieldPartnerId === null,
  assigned_to_another: (state: CaseState, trigger: Trigger) =>
    trigger.kind === "assign" && state.assignedFieldPartnerId !== trigger.fieldPartnerId,
  theirs: (state: CaseState, trigger: Trigger) =>
    trigger.kind === "start_visit" &&
    (state.assignedFieldPartnerId === trigger.fieldPartnerId || trigger.wasTheirs === true),
  before_the_block: (state: CaseState, trigger: Trigger) =>
    trigger.kind === "start_visit" && state.blockedAt !== null && trigger.occurredAt < state.blockedAt,
} as const;

/**
 * Applies a trigger to a case by the table TRANSITIONS, or returns why it is refused. Only the fields of the state
 * change; the sequence grows by the number of events. A confirmation is never refused, whatever the state of the case
 * (contract: States and transitions).
 *
 * @example
 * const verdict = transition(lockedCase, { kind: "assign", fieldPartnerId }, now);
 * if (!verdict.allowed) throw new Error(verdict.refusal.detail);
 * writeCaseStates(tx, [verdict.caseAfter], now);
 */
export function transition<C extends CaseState>(theCase: C, trigger: Trigger, now: Date): Verdict<C> {
  const row = TRANSITIONS.find(
    ({ from, trigger: kind, when = [] }) =>
      kind === trigger.kind &&
      from.includes(theCase.status) &&
      when.every((name) => CONDITIONS[name](theCase, trigger)),
  );
  if (row === undefined) return { allowed: false, refusal: refusalOf(theCase, trigger) };
  const moved = { ...theCase, ...moveTo(row.to, theCase), ...effectsOf(trigger, theCase, now) };
  return { allowed: true, ...numberEvents(blockedWhileHeldOrEnded(moved, now), row.events) };
}

/**
 * Numbers events that do not change the state of the case: each gets the next number of the loan's sequence.
 *
 * @example
 * const { caseAfter, events } = numberEvents(lockedCase, ["payment_link.unavailable"]);
 * writeCaseStates(tx, [caseAfter], now);
 */
export function numberEvents<C extends CaseState>(
  theCase: C,
  kinds: readonly CaseEventKind[],
): { readonly caseAfter: C; readonly events: readonly NumberedEvent[] } {
  const events = kinds.map((kind, index) => ({ kind, sequence: theCase.sequence + BigInt(index + 1) }));
  return { caseAfter: { ...theCase, sequence: theCase.sequence + BigInt(kinds.length) }, events };
}

function moveTo(to: Transition["to"], state: CaseState): Partial<CaseState> {
  if (to === "same") return {};
  if (to === "before_hold") return { status: state.statusBeforeHold ?? state.status };
  return { status: to };
}

function effectsOf(trigger: Trigger, state: CaseState, now: Date): Partial<CaseState> {
  switch (trigger.kind) {
    case "assign":
      return { assignedFieldPartnerId: trigger.fieldPartnerId, assignedSince: now };
    case "unassign":
      return { assignedFieldPartnerId: null, assignedSince: null };
    case "create_link":
      return state.status === "new" ? {} : begun(state);
    case "start_visit":
    case "payment_leaves_rest":
      return begun(state);
    case "hold":
      return { statusBeforeHold: state.statusBeforeHold ?? state.status, statusReason: trigger.reason };
    case "release":
      return { statusBeforeHold: null, statusReason: null };
    case "payment_clears":
      return state.status === "collected" ? {} : ended("paid_in_full", null, now);
    case "later_payments_clear":
      return ended("paid_in_full", null, now);
    case "reverse_payment":
      return {};
    case "reopen":
    case "reopen_by_balance":
      return { ...REOPENED, ...(trigger.keepsHolder ? {} : { assignedFieldPartnerId: null, assignedSince: null }) };
    case "close":
      return ended("closed_by_operator", trigger.reason, now);
    case "settle":
      return { ...ended("settled_by_lender", trigger.reason, now), settledByLender: true };
    case "withdraw":
      return ended("withdrawn", trigger.reason, now);
    default:
      return trigger satisfies never;
  }
}

/**
 * Records that work on the case has begun. A case on hold becomes `in_progress` at its release, even if it was `new`
 * before the hold.
 */
function begun(state: CaseState): Partial<CaseState> {
  return { workBegun: true, statusBeforeHold: state.statusBeforeHold === null ? null : "in_progress" };
}

const REOPENED = {
  workBegun: true,
  settledByLender: false,
  closedAt: null,
  closeReason: null,
  statusReason: null,
} as const;

function ended(closeReason: CloseReason, statusReason: string | null, now: Date): Partial<CaseState> {
  return { closedAt: now, closeReason, statusReason, statusBeforeHold: null };
}

function blockedWhileHeldOrEnded<C extends CaseState>(theCase: C, now: Date): C {
  const blocked = theCase.statusBeforeHold !== null || theCase.closedAt !== null;
  if (blocked === (theCase.fieldWork === "blocked")) return theCase;
  return { ...theCase, fieldWork: blocked ? "blocked" : "open", blockedAt: blocked ? now : null };
}

function refusalOf(state: CaseState, trigger: Trigger): TransitionRefusal {
  const onHold = { code: "CASE_ON_HOLD", detail: "The case is on hold; release it first." } as const;
  if (trigger.kind === "start_visit" && !CONDITIONS.theirs(state, trigger)) {
    return { code: "NOT_ASSIGNED", detail: "The case is not assigned to this field partner." };
  }
  if (state.closedAt !== null) {
    return { code: "CASE_ENDED", detail: "The case has ended; the lender's next import row may start a new cycle." };
  }
  switch (trigger.kind) {
    case "assign":
      return state.statusBeforeHold === null
        ? { code: "ALREADY_ASSIGNED", detail: "The case is already assigned to this field partner." }
        : onHold;
    case "unassign":
      return state.status === "on_hold"
        ? onHold
        : { code: "NOT_ASSIGNED", detail: "The case is not assigned to a field partner." };
    case "start_visit":
      return onHold;
    case "hold":
      return { code: "ALREADY_ON_HOLD", detail: "The case is already on hold." };
    case "release":
      return { code: "NOT_ON_HOLD", detail: "The case is not on hold." };
    default:
      throw new Error(`The table of states has no transition for ${trigger.kind} from ${state.status}.`);
  }
}
