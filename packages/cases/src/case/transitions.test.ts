import { expect, test } from "vitest";
import type { CaseStatus } from "./case-status.ts";
import { exampleCase } from "../../tests/example-case.ts";
import type { ImportedCase } from "./locked-case.ts";
import { type TransitionRefusalCode, transition, type Trigger } from "./transitions.ts";

const ASHA = "0193bf7c-0000-7000-8000-00000000000a";
const RAVI = "0193bf7c-0000-7000-8000-00000000000b";
const EARLIER = new Date("2026-11-19T10:00:00Z");
const NOW = new Date("2026-11-20T10:00:00Z");

/** Example cases. Each name describes the state of the case. */
const cases = {
  new: {},
  assigned: { status: "assigned", assignedFieldPartnerId: ASHA },
  "in progress": { status: "in_progress", assignedFieldPartnerId: ASHA, workBegun: true },
  "in progress, unassigned": { status: "in_progress", workBegun: true },
  "on hold, was new": held("new"),
  "on hold, was assigned": { ...held("assigned"), assignedFieldPartnerId: ASHA },
  "on hold, was in progress": { ...held("in_progress"), assignedFieldPartnerId: ASHA, workBegun: true },
  "on hold, then partly paid": {
    ...held("in_progress"),
    status: "in_progress",
    assignedFieldPartnerId: ASHA,
    workBegun: true,
  },
  collected: { ...over("collected", "paid_in_full"), outstandingMinor: 0n },
  settled: { ...over("closed", "settled_by_lender"), outstandingMinor: 0n, settledByLender: true },
  "closed by an operator": over("closed", "closed_by_operator"),
  withdrawn: { ...over("withdrawn", "withdrawn"), assignedFieldPartnerId: ASHA },
  "withdrawn, then partly paid": { ...over("in_progress", "withdrawn"), workBegun: true },
} satisfies Record<string, Partial<ImportedCase>>;

const triggers = {
  "assign to Asha": { kind: "assign", fieldPartnerId: ASHA },
  "assign to Ravi": { kind: "assign", fieldPartnerId: RAVI },
  unassign: { kind: "unassign" },
  "a visit of Asha": { kind: "start_visit", fieldPartnerId: ASHA, occurredAt: NOW },
  "a visit of Asha, reported late": {
    kind: "start_visit",
    fieldPartnerId: ASHA,
    occurredAt: new Date(EARLIER.getTime() - 1),
  },
  "a visit of Asha before she lost the case": {
    kind: "start_visit",
    fieldPartnerId: ASHA,
    occurredAt: new Date(EARLIER.getTime() - 1),
    wasTheirs: true,
  },
  "a visit of Ravi, who had the case then": {
    kind: "start_visit",
    fieldPartnerId: RAVI,
    occurredAt: new Date(EARLIER.getTime() - 1),
    wasTheirs: true,
  },
  "a visit of Ravi": { kind: "start_visit", fieldPartnerId: RAVI, occurredAt: NOW },
  "a link": { kind: "create_link" },
  hold: { kind: "hold", reason: "dispute" },
  release: { kind: "release" },
  "a partial payment": { kind: "payment_leaves_rest" },
  "a payment in full": { kind: "payment_clears" },
  "closed by an operator": { kind: "close", reason: "deceased" },
  "settled by the lender": { kind: "settle", reason: null },
  "a balance that later payments cover": { kind: "later_payments_clear" },
  withdraw: { kind: "withdraw", reason: "recalled" },
} satisfies Record<string, Trigger>;

type Row = readonly [keyof typeof cases, keyof typeof triggers, CaseStatus, readonly string[]];

const rows: readonly Row[] = [
  ["new", "assign to Asha", "assigned", ["case.assigned"]],
  ["in progress, unassigned", "assign to Asha", "in_progress", ["case.assigned"]],
  ["assigned", "assign to Ravi", "assigned", ["case.unassigned", "case.assigned"]],
  ["in progress", "assign to Ravi", "in_progress", ["case.unassigned", "case.assigned"]],
  ["assigned", "unassign", "new", ["case.unassigned"]],
  ["in progress", "unassign", "in_progress", ["case.unassigned"]],
  ["on hold, then partly paid", "unassign", "in_progress", ["case.unassigned"]],
  ["assigned", "a visit of Asha", "in_progress", ["visit.started"]],
  ["in progress", "a visit of Asha", "in_progress", ["visit.started"]],
  ["on hold, was in progress", "a visit of Asha, reported late", "on_hold", ["visit.started"]],
  ["withdrawn", "a visit of Asha, reported late", "withdrawn", ["visit.started"]],
  ["new", "a visit of Asha before she lost the case", "in_progress", ["visit.started"]],
  ["assigned", "a visit of Ravi, who had the case then", "in_progress", ["visit.started"]],
  ["in progress", "a visit of Ravi, who had the case then", "in_progress", ["visit.started"]],
  ["in progress, unassigned", "a visit of Asha before she lost the case", "in_progress", ["visit.started"]],
  ["on hold, was new", "a visit of Asha before she lost the case", "on_hold", ["visit.started"]],
  ["collected", "a visit of Asha before she lost the case", "collected", ["visit.started"]],
  ["assigned", "a link", "in_progress", ["payment_link.created"]],
  ["in progress", "a link", "in_progress", ["payment_link.created"]],
  ["new", "a link", "new", ["payment_link.created"]],
  ["on hold, was assigned", "a link", "on_hold", ["payment_link.created"]],
  ["withdrawn", "a link", "withdrawn", ["payment_link.created"]],
  ["new", "hold", "on_hold", ["case.held"]],
  ["assigned", "hold", "on_hold", ["case.held"]],
  ["in progress", "hold", "on_hold", ["case.held"]],
  ["on hold, then partly paid", "hold", "on_hold", ["case.held"]],
  ["on hold, was new", "release", "new", ["case.released"]],
  ["on hold, was assigned", "release", "assigned", ["case.released"]],
  ["on hold, was in progress", "release", "in_progress", ["case.released"]],
  ["on hold, then partly paid", "release", "in_progress", ["case.released"]],
  ["new", "a partial payment", "in_progress", ["payment.collected"]],
  ["assigned", "a partial payment", "in_progress", ["payment.collected"]],
  ["in progress", "a partial payment", "in_progress", ["payment.collected"]],
  ["on hold, was new", "a partial payment", "in_progress", ["payment.collected"]],
  ["closed by an operator", "a partial payment", "in_progress", ["payment.collected"]],
  ["withdrawn", "a partial payment", "in_progress", ["payment.collected"]],
  ["withdrawn, then partly paid", "a partial payment", "in_progress", ["payment.collected"]],
  ["new", "a payment in full", "collected", ["payment.collected", "case.closed"]],
  ["in progress", "a payment in full", "collected", ["payment.collected", "case.closed"]],
  ["on hold, was assigned", "a payment in full", "collected", ["payment.collected", "case.closed"]],
  ["withdrawn", "a payment in full", "collected", ["payment.collected", "case.closed"]],
  ["withdrawn, then partly paid", "a payment in full", "collected", ["payment.collected", "case.closed"]],
  ["closed by an operator", "a payment in full", "collected", ["payment.collected", "case.closed"]],
  ["settled", "a payment in full", "collected", ["payment.collected", "case.closed"]],
  ["collected", "a payment in full", "collected", ["payment.collected"]],
  ["in progress", "closed by an operator", "closed", ["case.returned"]],
  ["on hold, was new", "closed by an operator", "closed", ["case.returned"]],
  ["new", "settled by the lender", "closed", ["case.returned"]],
  ["in progress", "a balance that later payments cover", "collected", ["case.closed"]],
  ["on hold, was in progress", "a balance that later payments cover", "collected", ["case.closed"]],
  ["on hold, then partly paid", "settled by the lender", "closed", ["case.returned"]],
  ["new", "withdraw", "withdrawn", ["case.withdrawn"]],
  ["on hold, was in progress", "withdraw", "withdrawn", ["case.withdrawn"]],
];

test.each(rows)("case %s, trigger %s: the status becomes %s, with the events %j", (name, trigger, status, events) => {
  const before = exampleCase({ ...cases[name], sequence: 7n });
  const { caseAfter, events: told } = allowed(before, triggers[trigger]);
  expect(caseAfter.status).toBe(status);
  expect(told).toEqual(events.map((kind, index) => ({ kind, sequence: BigInt(8 + index) })));
  expect(caseAfter.sequence).toBe(7n + BigInt(events.length));
  const blocked = caseAfter.statusBeforeHold !== null || caseAfter.closedAt !== null;
  expect(caseAfter.fieldWork).toBe(blocked ? "blocked" : "open");
  expect(caseAfter.blockedAt !== null).toBe(blocked);
});

const refusals: readonly (readonly [keyof typeof cases, keyof typeof triggers, TransitionRefusalCode])[] = [
  ["assigned", "assign to Asha", "ALREADY_ASSIGNED"],
  ["on hold, was assigned", "assign to Ravi", "CASE_ON_HOLD"],
  ["on hold, then partly paid", "assign to Ravi", "CASE_ON_HOLD"],
  ["withdrawn", "assign to Ravi", "CASE_ENDED"],
  ["withdrawn, then partly paid", "assign to Ravi", "CASE_ENDED"],
  ["new", "unassign", "NOT_ASSIGNED"],
  ["in progress, unassigned", "unassign", "NOT_ASSIGNED"],
  ["on hold, was in progress", "unassign", "CASE_ON_HOLD"],
  ["collected", "unassign", "CASE_ENDED"],
  ["new", "a visit of Asha", "NOT_ASSIGNED"],
  ["in progress", "a visit of Ravi", "NOT_ASSIGNED"],
  ["on hold, was in progress", "a visit of Asha", "CASE_ON_HOLD"],
  ["on hold, then partly paid", "a visit of Asha", "CASE_ON_HOLD"],
  ["withdrawn", "a visit of Asha", "CASE_ENDED"],
  ["on hold, was new", "hold", "ALREADY_ON_HOLD"],
  ["withdrawn, then partly paid", "hold", "CASE_ENDED"],
  ["in progress", "release", "NOT_ON_HOLD"],
  ["new", "release", "NOT_ON_HOLD"],
  ["withdrawn, then partly paid", "release", "CASE_ENDED"],
  ["closed by an operator", "closed by an operator", "CASE_ENDED"],
  ["collected", "settled by the lender", "CASE_ENDED"],
  ["withdrawn, then partly paid", "a balance that later payments cover", "CASE_ENDED"],
  ["withdrawn, then partly paid", "withdraw", "CASE_ENDED"],
];

test.each(refusals)("case %s, trigger %s: refused with %s", (name, trigger, code) => {
  const verdict = transition(exampleCase(cases[name]), triggers[trigger], NOW);
  expect(verdict).toMatchObject({ allowed: false, refusal: { code } });
});

test("transition returns a verdict for every trigger in every state", () => {
  const pairs = Object.values(cases).flatMap((fields) =>
    Object.values(triggers).map((trigger) => ({ fields, trigger })),
  );
  // A case with nothing outstanding cannot get a partial payment.
  const possible = pairs.filter(
    ({ fields, trigger }) => trigger.kind !== "payment_leaves_rest" || !("outstandingMinor" in fields),
  );
  const verdicts = possible.map(({ fields, trigger }) => transition(exampleCase(fields), trigger, NOW).allowed);
  expect(verdicts).toHaveLength(13 * 17 - 2);
});

test("a confirmation is never refused", () => {
  for (const fields of Object.values(cases)) {
    const trigger = "outstandingMinor" in fields ? triggers["a payment in full"] : triggers["a partial payment"];
    expect(transition(exampleCase(fields), trigger, NOW).allowed).toBe(true);
  }
});

test("a partial payment sets a case on hold to in_progress, but field work stays blocked until the hold is released", () => {
  const { caseAfter } = allowed(exampleCase(cases["on hold, was assigned"]), triggers["a partial payment"]);
  expect(caseAfter).toMatchObject({ status: "in_progress", fieldWork: "blocked", statusReason: "dispute" });
  expect(allowed(caseAfter, triggers.release).caseAfter).toMatchObject({
    status: "in_progress",
    fieldWork: "open",
    statusReason: null,
  });
});

test("a partial payment on a case that has ended keeps closedAt and closeReason", () => {
  const { caseAfter } = allowed(exampleCase(cases.withdrawn), triggers["a partial payment"]);
  expect(caseAfter).toMatchObject({
    status: "in_progress",
    fieldWork: "blocked",
    closedAt: EARLIER,
    closeReason: "withdrawn",
  });
});

test("a second payment on a collected case changes nothing but the sequence", () => {
  const before = exampleCase({ ...cases.collected, sequence: 4n });
  expect(allowed(before, triggers["a payment in full"]).caseAfter).toEqual({ ...before, sequence: 5n });
});

test("the end of a case stores its time, its reason and the free text of the order", () => {
  expect(allowed(exampleCase(), triggers["closed by an operator"]).caseAfter).toMatchObject({
    closedAt: NOW,
    closeReason: "closed_by_operator",
    statusReason: "deceased",
    settledByLender: false,
  });
  expect(allowed(exampleCase(), triggers["settled by the lender"]).caseAfter).toMatchObject({
    closeReason: "settled_by_lender",
    settledByLender: true,
  });
  expect(allowed(exampleCase(), triggers.withdraw).caseAfter).toMatchObject({
    closeReason: "withdrawn",
    statusReason: "recalled",
  });
  expect(allowed(exampleCase(cases["on hold, was new"]), triggers["a payment in full"]).caseAfter).toMatchObject({
    closeReason: "paid_in_full",
    statusReason: null,
    statusBeforeHold: null,
  });
});

test("a case that gets a link while it is on hold becomes in progress at its release", () => {
  const { caseAfter } = allowed(exampleCase(cases["on hold, was assigned"]), triggers["a link"]);
  expect(allowed(caseAfter, triggers.release).caseAfter).toMatchObject({ status: "in_progress", workBegun: true });
});

test("assign and unassign change the stored field partner and the time of the assignment", () => {
  const working = exampleCase({ ...cases["in progress"], assignedSince: EARLIER });
  expect(allowed(working, triggers["assign to Ravi"]).caseAfter).toMatchObject({
    assignedFieldPartnerId: RAVI,
    assignedSince: NOW,
  });
  expect(allowed(working, triggers.unassign).caseAfter).toMatchObject({
    assignedFieldPartnerId: null,
    assignedSince: null,
  });
  expect(allowed(working, triggers["a visit of Asha"]).caseAfter.assignedSince).toEqual(EARLIER);
});

function allowed(before: ImportedCase, trigger: Trigger) {
  const verdict = transition(before, trigger, NOW);
  if (!verdict.allowed) throw new Error(verdict.refusal.detail);
  return verdict;
}

function held(statusBeforeHold: CaseStatus) {
  return {
    status: "on_hold",
    statusBeforeHold,
    statusReason: "dispute",
    fieldWork: "blocked",
    blockedAt: EARLIER,
  } as const;
}

function over(status: CaseStatus, closeReason: NonNullable<ImportedCase["closeReason"]>) {
  return { status, closeReason, fieldWork: "blocked", blockedAt: EARLIER, closedAt: EARLIER } as const;
}
