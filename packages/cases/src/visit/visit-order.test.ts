import { newId, transaction } from "@collections/database";
import { currency } from "@collections/money";
import { expect, test } from "vitest";
import { completeVisit } from "./complete-visit.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { lockCase } from "../case/lock-cases.ts";
import type { LockedCase } from "../case/locked-case.ts";
import { openPromisesOf } from "./read-visits.ts";
import { startVisit } from "./start-visit.ts";
import type { Disposition } from "../case/disposition.ts";
import { insertCases, writeCaseStates } from "../case/write-cases.ts";

const database = await casesDatabase();
const ASHA = newId();
const NOW = new Date("2026-11-20T18:00:00Z");

interface ReportedVisit {
  readonly visitId: string;
  readonly hour: number;
  readonly disposition?: Disposition;
  readonly dueOn?: string;
}

const [older, newer] = [newId(), newId()] as [string, string];

test.each<[string, readonly ReportedVisit[], Partial<LockedCase>]>([
  [
    "the visit that started later is the last visit",
    [
      { visitId: older, hour: 11 },
      { visitId: newer, hour: 9 },
    ],
    { lastVisitId: older },
  ],
  [
    "of two visits that started at the same time, the one with the greater id is the last visit",
    [
      { visitId: newer, hour: 9 },
      { visitId: older, hour: 9 },
    ],
    { lastVisitId: newer },
  ],
  [
    "the visit that ended later determines the last disposition",
    [
      { visitId: newer, hour: 11, disposition: "REFUSED_TO_PAY" },
      { visitId: older, hour: 9, disposition: "NOT_AT_HOME" },
    ],
    { lastVisitId: newer, lastDisposition: "REFUSED_TO_PAY" },
  ],
  [
    "a dispute in the earlier visit puts the case on hold",
    [
      { visitId: newer, hour: 11, disposition: "OTHER" },
      { visitId: older, hour: 9, disposition: "DISPUTE" },
    ],
    { lastDisposition: "OTHER", status: "on_hold", statusReason: "dispute" },
  ],
])("%s, in both orders of arrival", async (_, visits, expected) => {
  const ids = new Map([older, newer].map((id) => [id, newId()]));
  for (const order of [visits, visits.toReversed()]) {
    const theCase = await aCase();
    for (const visit of order) await report(theCase, { ...visit, visitId: ofCase(visit.visitId) });
    const { lastVisitId = null } = expected;
    const lastVisit = lastVisitId && { lastVisitId: ofCase(lastVisitId) };
    expect(await caseNow(theCase)).toMatchObject({ ...expected, ...lastVisit });
    for (const id of ids.keys()) ids.set(id, newId());
  }

  function ofCase(id: string): string {
    return ids.get(id)!;
  }
});

test("only the promise of the later visit is open, in both orders of arrival", async () => {
  for (const hours of [
    [9, 11],
    [11, 9],
  ]) {
    const theCase = await aCase();
    for (const hour of hours) {
      await report(theCase, { visitId: newId(), hour, disposition: "PROMISE_TO_PAY", dueOn: `2026-12-${hour + 10}` });
    }
    const key = { lenderId: theCase.lenderId, caseId: theCase.id };
    expect((await openPromisesOf(database.em(), [key])).get(theCase.id)).toMatchObject({ dueOn: "2026-12-21" });
    const { rows } = await database.pool.query("select state from cases.promise where case_id = $1 order by state", [
      theCase.id,
    ]);
    expect(rows).toEqual([{ state: "open" }, { state: "replaced" }]);
  }
});

async function aCase(): Promise<LockedCase> {
  const theCase = exampleCase({ status: "assigned", assignedFieldPartnerId: ASHA });
  await transaction(database.em(), (tx) => insertCases(tx, [theCase], [], NOW));
  return theCase;
}

/** Reports a visit of half an hour. The service receives the report later, at NOW. */
function report(
  { lenderId, id: caseId }: LockedCase,
  { visitId, hour, disposition, dueOn }: ReportedVisit,
): Promise<void> {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, hour, minute));
  const mine = { visitId, fieldPartnerId: ASHA };
  return transaction(database.em(), async (tx) => {
    const locked = (await lockCase(tx, { lenderId, caseId }))!;
    const started = await startVisit(tx, locked, { ...mine, occurredAt: at(0) }, NOW);
    if (started.outcome !== "started") throw new Error(started.outcome);
    writeCaseStates(tx, [started.caseAfter], NOW);
    if (disposition === undefined) return;
    const promise = dueOn === undefined ? undefined : { amountMinor: 100n, currency: currency("INR"), dueOn };
    const completion = { ...mine, disposition, occurredAt: at(30), promise };
    const ended = await completeVisit(tx, started.caseAfter, completion, NOW);
    if (ended.outcome !== "completed") throw new Error(ended.outcome);
    writeCaseStates(tx, [ended.caseAfter], NOW);
  });
}

function caseNow({ lenderId, id: caseId }: LockedCase): Promise<LockedCase | undefined> {
  return transaction(database.em(), (tx) => lockCase(tx, { lenderId, caseId }));
}
