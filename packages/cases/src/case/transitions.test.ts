import { expect, test } from "vitest";
import type { CaseStatus } from "./case-status.ts";
import { exampleCase } from "../../tests/example-case.ts";
import type { ImportedCase } from "./locked-case.ts";
import { type RefusalCode, transition, type Trigger } from "./transitions.ts";

const ASHA = "0193bf7c-0000-7000-8000-00000000000a";
const RAVI = "0193bf7c-0000-7000-8000-00000000000b";
const EARLIER = new Date("2026-11-19T10:00:00Z");
const NOW = new Date("2026-11-20T10:00:00Z");

/** Cases by what has happened to them. */
const cases = {
  new: {},
  assigned: { status: "assigned", assignedFieldPartnerId: ASHA },
  working: { status: "in_progress", assignedFieldPartnerId: ASHA, workBegun: true },
  "working, nobody holds it": { status: "in_progress", workBegun: true },
  "held while new": held("new"),
  "held while assigned": { ...held("assigned"), assignedFieldPartnerId: ASHA },
  "held while working": { ...held("in_progress"), assignedFieldPartnerId: ASHA, workBegun: true },
  "held, then partly paid": {
    ...held("in_progress"),
    status: "in_progress",
    assignedFieldPartnerId: ASHA,
    workBegun: true,
  },
  collected: { ...over("collected", "paid_in_full"), outstandingMinor: 0n },
  settled: { ...over("closed", "settled_by_lender"), outstandingMinor: 0n, settledByLender: true },
  "closed by hand": over("closed", "closed_by_operator"),
  withdrawn: { ...over("withdrawn", "withdrawn"), assignedFieldPartnerId: ASHA },
  "withdrawn, then partly paid": { ...over("in_progress", "withdrawn"), workBegun: true },
} satisfies Record<string, Partial<ImportedCase>>;

const triggers = {
  "assign to Asha": { kind: "assign", fieldPartnerId: ASHA },
  "assign to Ravi": { kind: "assign", fieldPartnerId: RAVI },
  unassign: { kind: "unassign" },
  "a visit of Asha": { kind: "start_visit", fieldPartnerId: ASHA, occurredAt: NOW },
  "a visit of Asha, told late": {
    kind: "start_visit",
    fieldPartnerId: ASHA,
    occurredAt: new Date(EARLIER.getTime() - 1),
  },
  "a visit of Asha before she lost it": {
    kind: "start_visit",
    fieldPartnerId: ASHA,
    occurredAt: new Date(EARLIER.getTime() - 1),
    wasTheirs: true,
  },
  "a visit of Ravi, who had it then": {
    kind: "start_visit",
    fieldPartnerId: RAVI,
    occurredAt: new Date(EARLIER.getTime() - 1),
    wasTheirs: true,
  },
  "a visit of Ravi": { kind: "start_visit", fieldPartnerId: RAVI, occurredAt: NOW },
  "a link": { kind: "create_link" },
  hold: { kind: "hold", reason: "dispute" },
  release: { kind: "release" },
  "a part is paid": { kind: "payment_leaves_rest" },
  "all is paid": { kind: "payment_clears" },
  "closed by hand": { kind: "close", reason: "deceased" },
  "settled by the lender": { kind: "settle", reason: null },
  "a balance that later payments cover": { kind: "later_payments_clear" },
  withdraw: { kind: "withdraw", reason: "recalled" },
} satisfies Record<string, Trigger>;

type Row = readonly [keyof typeof cases, keyof typeof triggers, CaseStatus, readonly string[]];

const rows: readonly Row[] = [
  ["new", "assign to Asha", "assigned", ["case.assigned"]],
  ["working, nobody holds it", "assign to Asha", "in_progress", ["case.assigned"]],
  ["assigned", "assign to Ravi", "assigned", ["case.unassigned", "case.assigned"]],
  ["working", "assign to Ravi", "in_progress", ["case.unassigned", "case.assigned"]],
  ["assigned", "unassign", "new", ["case.unassigned"]],
  ["working", "unassign", "in_progress", ["case.unassigned"]],
  ["held, then partly paid", "unassign", "in_progress", ["case.unassigned"]],
  ["assigned", "a visit of Asha", "in_progress", ["visit.started"]],
  ["working", "a visit of Asha", "in_progress", ["visit.started"]],
  ["held while working", "a visit of Asha, told late", "on_hold", ["visit.started"]],
  ["withdrawn", "a visit of Asha, told late", "withdrawn", ["visit.started"]],
  ["new", "a visit of Asha before she lost it", "in_progress", ["visit.started"]],
  ["assigned", "a visit of Ravi, who had it then", "in_progress", ["visit.started"]],
  ["working", "a visit of Ravi, who had it then", "in_progress", ["visit.started"]],
  ["working, nobody holds it", "a visit of Asha before she lost it", "in_progress", ["visit.started"]],
  ["held while new", "a visit of Asha before she lost it", "on_hold", ["visit.started"]],
  ["collected", "a visit of Asha before she lost it", "collected", ["visit.started"]],
  ["assigned", "a link", "in_progress", ["payment_link.created"]],
  ["working", "a link", "in_progress", ["payment_link.created"]],
  ["new", "a link", "new", ["payment_link.created"]],
  ["held while assigned", "a link", "on_hold", ["payment_link.created"]],
  ["withdrawn", "a link", "withdrawn", ["payment_link.created"]],
  ["new", "hold", "on_hold", ["case.held"]],
  ["assigned", "hold", "on_hold", ["case.held"]],
  ["working", "hold", "on_hold", ["case.held"]],
  ["held, then partly paid", "hold", "on_hold", ["case.held"]],
  ["held while new", "release", "new", ["case.released"]],
  ["held while assigned", "release", "assigned", ["case.released"]],
  ["held while working", "release", "in_progress", ["case.released"]],
  ["held, then partly paid", "release", "in_progress", ["case.released"]],
  ["new", "a part is paid", "in_progress", ["payment.collected"]],
  ["assigned", "a part is paid", "in_progress", ["payment.collected"]],
  ["working", "a part is paid", "in_progress", ["payment.collected"]],
  ["held while new", "a part is paid", "in_progress", ["payment.collected"]],
  ["closed by hand", "a part is paid", "in_progress", ["payment.collected"]],
  ["withdrawn", "a part is paid", "in_progress", ["payment.collected"]],
  ["withdrawn, then partly paid", "a part is paid", "in_progress", ["payment.collected"]],
  ["new", "all is paid", "collected", ["payment.collected", "case.closed"]],
  ["working", "all is paid", "collected", ["payment.collected", "case.closed"]],
  ["held while assigned", "all is paid", "collected", ["payment.collected", "case.closed"]],
  ["withdrawn", "all is paid", "collected", ["payment.collected", "case.closed"]],
  ["withdrawn, then partly paid", "all is paid", "collected", ["payment.collected", "case.closed"]],
  ["closed by hand", "all is paid", "collected", ["payment.collected", "case.closed"]],
  ["settled", "all is paid", "collected", ["payment.collected", "case.closed"]],
  ["collected", "all is paid", "collected", ["payment.collected"]],
  ["working", "closed by hand", "closed", ["case.returned"]],
  ["held while new", "closed by hand", "closed", ["case.returned"]],
  ["new", "settled by the lender", "closed", ["case.returned"]],
  ["working", "a balance that later payments cover", "collected", ["case.closed"]],
  ["held while working", "a balance that later payments cover", "collected", ["case.closed"]],
  ["held, then partly paid", "settled by the lender", "closed", ["case.returned"]],
  ["new", "withdraw", "withdrawn", ["case.withdrawn"]],
  ["held while working", "withdraw", "withdrawn", ["case.withdrawn"]],
];

test.each(rows)("%s, %s: %s %j", (name, trigger, status, events) => {
  const before = exampleCase({ ...cases[name], sequence: 7n });
  const { caseAfter, events: told } = allowed(before, triggers[trigger]);
  expect(caseAfter.status).toBe(status);
  expect(told).toEqual(events.map((kind, index) => ({ kind, sequence: BigInt(8 + index) })));
  expect(caseAfter.sequence).toBe(7n + BigInt(events.length));
  const blocked = caseAfter.statusBeforeHold !== null || caseAfter.closedAt !== null;
  expect(caseAfter.fieldWork).toBe(blocked ? "blocked" : "open");
  expect(caseAfter.blockedAt !== null).toBe(blocked);
});

const refusals: readonly (readonly [keyof typeof cases, keyof typeof triggers, RefusalCode])[] = [
  ["assigned", "assign to Asha", "ALREADY_ASSIGNED"],
  ["held while assigned", "assign to Ravi", "CASE_ON_HOLD"],
  ["held, then partly paid", "assign to Ravi", "CASE_ON_HOLD"],
  ["withdrawn", "assign to Ravi", "CASE_ENDED"],
  ["withdrawn, then partly paid", "assign to Ravi", "CASE_ENDED"],
  ["new", "unassign", "NOT_ASSIGNED"],
  ["working, nobody holds it", "unassign", "NOT_ASSIGNED"],
  ["held while working", "unassign", "CASE_ON_HOLD"],
  ["collected", "unassign", "CASE_ENDED"],
  ["new", "a visit of Asha", "NOT_ASSIGNED"],
  ["working", "a visit of Ravi", "NOT_ASSIGNED"],
  ["held while working", "a visit of Asha", "CASE_ON_HOLD"],
  ["held, then partly paid", "a visit of Asha", "CASE_ON_HOLD"],
  ["withdrawn", "a visit of Asha", "CASE_ENDED"],
  ["held while new", "hold", "ALREADY_ON_HOLD"],
  ["withdrawn, then partly paid", "hold", "CASE_ENDED"],
  ["working", "release", "NOT_ON_HOLD"],
  ["new", "release", "NOT_ON_HOLD"],
  ["withdrawn, then partly paid", "release", "CASE_ENDED"],
  ["closed by hand", "closed by hand", "CASE_ENDED"],
  ["collected", "settled by the lender", "CASE_ENDED"],
  ["withdrawn, then partly paid", "a balance that later payments cover", "CASE_ENDED"],
  ["withdrawn, then partly paid", "withdraw", "CASE_ENDED"],
];

test.each(refusals)("%s, %s: refused as %s", (name, trigger, code) => {
  const verdict = transition(exampleCase(cases[name]), triggers[trigger], NOW);
  expect(verdict).toMatchObject({ allowed: false, refusal: { code } });
});

test("every case has an answer to every trigger", () => {
  const pairs = Object.values(cases).flatMap((fields) =>
    Object.values(triggers).map((trigger) => ({ fields, trigger })),
  );
  // A part of nothing cannot be paid.
  const possible = pairs.filter(
    ({ fields, trigger }) => trigger.kind !== "payment_leaves_rest" || !("outstandingMinor" in fields),
  );
  const verdicts = possible.map(({ fields, trigger }) => transition(exampleCase(fields), trigger, NOW).allowed);
  expect(verdicts).toHaveLength(13 * 17 - 2);
});

test("a confirmation is never refused", () => {
  for (const fields of Object.values(cases)) {
    const trigger = "outstandingMinor" in fields ? triggers["all is paid"] : triggers["a part is paid"];
    expect(transition(exampleCase(fields), trigger, NOW).allowed).toBe(true);
  }
});

test("a part paid on a held case leaves it held, whatever its status says, until it is released", () => {
  const { caseAfter } = allowed(exampleCase(cases["held while assigned"]), triggers["a part is paid"]);
  expect(caseAfter).toMatchObject({ status: "in_progress", fieldWork: "blocked", statusReason: "dispute" });
  expect(allowed(caseAfter, triggers.release).caseAfter).toMatchObject({
    status: "in_progress",
    fieldWork: "open",
    statusReason: null,
  });
});

test("a part paid on a case that has ended keeps its end", () => {
  const { caseAfter } = allowed(exampleCase(cases.withdrawn), triggers["a part is paid"]);
  expect(caseAfter).toMatchObject({
    status: "in_progress",
    fieldWork: "blocked",
    closedAt: EARLIER,
    closeReason: "withdrawn",
  });
});

test("a second payment on a collected case changes nothing but the sequence", () => {
  const before = exampleCase({ ...cases.collected, sequence: 4n });
  expect(allowed(before, triggers["all is paid"]).caseAfter).toEqual({ ...before, sequence: 5n });
});

test("the end has its reason, its instant and the words that were given for it", () => {
  expect(allowed(exampleCase(), triggers["closed by hand"]).caseAfter).toMatchObject({
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
  expect(allowed(exampleCase(cases["held while new"]), triggers["all is paid"]).caseAfter).toMatchObject({
    closeReason: "paid_in_full",
    statusReason: null,
    statusBeforeHold: null,
  });
});

test("work that began while the case was held is not undone by its release", () => {
  const { caseAfter } = allowed(exampleCase(cases["held while assigned"]), triggers["a link"]);
  expect(allowed(caseAfter, triggers.release).caseAfter).toMatchObject({ status: "in_progress", workBegun: true });
});

test("a reassigned case belongs to the other field partner from now on, an unassigned one to nobody", () => {
  const working = exampleCase({ ...cases.working, assignedSince: EARLIER });
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
