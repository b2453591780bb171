import { transaction } from "@collections/database";
import { dayIn } from "@collections/local-time";
import { describe, expect, test } from "vitest";
import {
  inTransaction,
  aCase,
  aFieldPartner,
  aLender,
  BORROWER,
  currentCase,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabase,
  importRow,
} from "../../tests/fixture.ts";
import { assignCase, closeCase, holdCase, unassignCase } from "../case/change-case.ts";
import type { AppContext } from "../request/app-request.ts";
import { startVisit, type VisitToStart } from "./start-visit.ts";

const database = await flowsDatabase();
const context = { environment: ENVIRONMENT };
const [{ lender }, fieldPartner] = await Promise.all([aLender(database), aFieldPartner(database)]);

function assignedCase(row = {}) {
  return aCase(database, lender, { fieldPartner, row });
}

function start(given: Partial<VisitToStart> & { caseId: string }) {
  return { fieldPartnerId: fieldPartner.id, visitId: crypto.randomUUID(), occurredAt: new Date(), ...given };
}

function report(visit: VisitToStart, at: AppContext = context) {
  return inTransaction(database, startVisit, visit, at);
}

const HOUR_MS = 3_600_000;

describe("a visit", () => {
  test("starts on a case that is assigned to its field partner, and emits visit.started", async () => {
    const theCase = await assignedCase();
    const location = { latitude: 19.076, longitude: 72.8777, accuracyM: 12 };
    const request = start({ caseId: theCase.id, location, occurredAt: new Date("2024-11-20T09:00:00Z") });
    const outcome = await report(request);
    expect(outcome).toMatchObject({
      kind: "started",
      visit: {
        id: request.visitId,
        caseId: theCase.id,
        startedAt: request.occurredAt,
        latitude: 19.076,
        disposition: null,
      },
      case: { id: theCase.id, status: "in_progress", lastVisitId: request.visitId },
    });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "visit.started",
      sequence: 3,
      status: "in_progress",
      data: { visitId: `vis_${request.visitId.replaceAll("-", "")}`, occurredAt: "2024-11-20T09:00:00.000Z" },
    });
    expect(await currentCase(database, lender, theCase.sourceLoanNumber)).toMatchObject({
      status: "in_progress",
      workBegun: true,
      sequence: 3n,
    });
  });

  test("that is reported several times, also concurrently, is one visit with one event", async () => {
    const theCase = await assignedCase();
    const request = start({ caseId: theCase.id });
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => report(request)));
    for (const outcome of [...outcomes, await report(request)]) {
      expect(outcome).toMatchObject({ kind: "started", visit: { id: request.visitId } });
    }
    expect((await eventsOfLoan(database, theCase)).map(({ kind }) => kind)).toEqual([
      "case.created",
      "case.assigned",
      "visit.started",
    ]);
  });

  test("that has started is still returned after its case was assigned to another field partner", async () => {
    const theCase = await assignedCase();
    const request = start({ caseId: theCase.id });
    await report(request);
    await assignTo(theCase.sourceLoanNumber, await aFieldPartner(database));
    expect(await report(request)).toMatchObject({ kind: "started" });
  });

  test("is not found for an unknown case, an unassigned case and a case of another field partner", async () => {
    const stranger = await aFieldPartner(database);
    const theirs = await aCase(database, lender, { fieldPartner: stranger });
    const nobodys = await aCase(database, lender);
    for (const caseId of [crypto.randomUUID(), theirs.id, nobodys.id]) {
      expect(await report(start({ caseId }))).toEqual({ kind: "not_found" });
    }
  });

  test("does not start on a case that is on hold or has ended", async () => {
    const [held, ended] = await Promise.all([assignedCase(), assignedCase()]);
    await holdCase(database.em(), { lender, loan: held.sourceLoanNumber, reason: "dispute" }, ENVIRONMENT);
    await closeCase(database.em(), { lender, loan: ended.sourceLoanNumber, reason: "agreed" }, ENVIRONMENT);
    const answers = await Promise.all([held, ended].map(({ id }) => report(start({ caseId: id }))));
    expect(answers).toMatchObject([
      { kind: "not_workable", code: "CASE_ON_HOLD" },
      { kind: "not_workable", code: "CASE_ENDED" },
    ]);
  });

  test("that started before the hold and is reported late is recorded, and the case stays on hold", async () => {
    const theCase = await assignedCase();
    await holdCase(database.em(), { lender, loan: theCase.sourceLoanNumber, reason: "dispute" }, ENVIRONMENT);
    const request = start({ caseId: theCase.id, occurredAt: new Date(Date.now() - HOUR_MS) });
    expect(await report(request)).toMatchObject({
      kind: "started",
      case: { status: "on_hold", fieldWork: "blocked" },
    });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({ kind: "visit.started", status: "on_hold" });
  });

  test("that starts before doNotContactUntil is refused, unless it is reported late", async () => {
    const theCase = await assignedCase({ doNotContactUntil: dayIn("UTC", new Date(Date.now() + 72 * HOUR_MS)) });
    const now = start({ caseId: theCase.id });
    expect(await report(now)).toMatchObject({
      kind: "not_workable",
      code: "DO_NOT_CONTACT",
    });
    const before = { ...now, occurredAt: new Date(Date.now() - HOUR_MS) };
    expect(await report(before)).toMatchObject({ kind: "started" });
    expect(await report(before)).toMatchObject({ kind: "started" });
  });

  test("is refused with a visit id that is in use", async () => {
    const [one, other] = await Promise.all([assignedCase(), assignedCase()]);
    const request = start({ caseId: one.id });
    await report(request);
    expect(await report({ ...request, caseId: other.id })).toEqual({
      kind: "visit_id_taken",
    });
    expect(await eventsOfLoan(database, other)).toHaveLength(2);
  });

  test.each([
    ["30 days ahead", 30 * 24],
    ["25 hours ahead", 25],
    ["reset to 1970", -56 * 365 * 24],
  ])("of a phone whose clock is %s is recorded with its time of arrival and marked", async (_, hours) => {
    const theCase = await assignedCase();
    const now = new Date();
    const occurredAt = new Date(now.getTime() + hours * HOUR_MS);
    const outcome = await report(start({ caseId: theCase.id, occurredAt }), { ...context, now });
    const visit = { startedAt: now, startReceivedAt: now, startClockWrong: true };
    expect(outcome).toMatchObject({ kind: "started", visit });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({ data: { occurredAt: now.toISOString() } });
  });

  test("of a phone whose clock is wrong is recorded after the case was held, withdrawn or given to another", async () => {
    const occurredAt = new Date("1970-01-01T00:10:00Z");
    const other = await aFieldPartner(database);
    const changes = [
      (loan: string) => holdCase(database.em(), { lender, loan, reason: "complaint" }, ENVIRONMENT),
      (loan: string) => importRow(database, lender, { sourceLoanNumber: loan, action: "withdraw" }),
      (loan: string) => unassignCase(database.em(), { lender, loan, reason: "leave" }, ENVIRONMENT),
      (loan: string) =>
        assignCase(database.em(), { lender, loan, reason: "nearer", fieldPartnerId: other.id }, ENVIRONMENT),
    ];
    for (const change of changes) {
      const theCase = await assignedCase();
      await change(theCase.sourceLoanNumber);
      const outcome = await report(start({ caseId: theCase.id, occurredAt }));
      expect(outcome).toMatchObject({ kind: "started", visit: { startClockWrong: true } });
    }
  });

  test("is refused with an impossible place", async () => {
    const { id: caseId } = await assignedCase();
    for (const location of [
      { latitude: 91, longitude: 0 },
      { latitude: 0, longitude: Number.NaN },
      { latitude: 0, longitude: 0, accuracyM: -1 },
    ]) {
      expect(await report(start({ caseId, location }))).toMatchObject({
        kind: "invalid",
        code: "INVALID_LOCATION",
      });
    }
  });

  test("is rolled back with the transaction of its caller", async () => {
    const theCase = await assignedCase();
    const request = start({ caseId: theCase.id });
    const failing = transaction(database.em(), async (tx) => {
      await startVisit(tx, request, context);
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    expect(await eventsOfLoan(database, theCase)).toHaveLength(2);
  });

  test("of a case that is reassigned at the same time is recorded, whichever transaction commits first", async () => {
    const theCase = await assignedCase();
    const stranger = await aFieldPartner(database);
    const outcomes = await Promise.all([
      assignTo(theCase.sourceLoanNumber, stranger),
      report(start({ caseId: theCase.id })),
    ]);
    expect(outcomes[1]).toMatchObject({ kind: "started", case: { status: "in_progress" } });
  });
});

describe("a visit that is reported after the case was taken from the field partner", () => {
  test.each(["somebody else", "nobody"])(
    "is recorded and emits visit.started if the case now belongs to %s",
    async (whom) => {
      const theCase = await assignedCase();
      const request = start({ caseId: theCase.id });
      const next = whom === "nobody" ? null : await aFieldPartner(database);
      await (next ? assignTo(theCase.sourceLoanNumber, next) : unassign(theCase.sourceLoanNumber));
      const assignedFieldPartnerId = next?.id ?? null;
      for (let time = 1; time <= 2; time++) {
        expect(await report(request)).toMatchObject({
          kind: "started",
          visit: { id: request.visitId, fieldPartnerId: fieldPartner.id },
          case: { status: "in_progress", assignedFieldPartnerId, lastVisitId: request.visitId },
        });
      }
      const visits = (await eventsOfLoan(database, theCase)).filter(({ kind }) => kind === "visit.started");
      expect(visits).toHaveLength(1);
    },
  );

  test("is recorded when the loan is in its next cycle", async () => {
    const theCase = await assignedCase();
    const request = start({ caseId: theCase.id, occurredAt: new Date(Date.now() - HOUR_MS) });
    const loan = theCase.sourceLoanNumber;
    await closeCase(database.em(), { lender, loan, reason: "agreed" }, ENVIRONMENT);
    await importRow(database, lender, { ...BORROWER, sourceLoanNumber: loan, outstandingAmount: 900 });
    expect(await report(request)).toMatchObject({
      kind: "started",
      case: { id: theCase.id, status: "closed", lastVisitId: request.visitId },
    });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({ kind: "visit.started", status: "new" });
  });

  test("is recorded although doNotContactUntil was set in the meantime", async () => {
    const theCase = await assignedCase({ doNotContactUntil: dayIn("UTC", new Date(Date.now() + 72 * HOUR_MS)) });
    const request = start({ caseId: theCase.id });
    await unassign(theCase.sourceLoanNumber);
    expect(await report(request)).toMatchObject({ kind: "started" });
  });

  test("is not found if it started after the loss of the case, or is reported more than 31 days after the loss", async () => {
    const theCase = await assignedCase();
    const before = start({ caseId: theCase.id });
    await unassign(theCase.sourceLoanNumber);
    const notFound = { kind: "not_found" };
    const after = start({ caseId: theCase.id, occurredAt: new Date(Date.now() + 1_000) });
    expect(await report(after)).toEqual(notFound);
    const muchLater = { ...context, now: new Date(Date.now() + 31 * 24 * HOUR_MS) };
    expect(await report(before, muchLater)).toEqual(notFound);
    const { id: stranger } = await aFieldPartner(database);
    expect(await report({ ...before, fieldPartnerId: stranger })).toEqual(notFound);
    expect(await report(before)).toMatchObject({ kind: "started" });
  });

  test("is refused if it started after the case had ended", async () => {
    const theCase = await assignedCase();
    const loan = theCase.sourceLoanNumber;
    await closeCase(database.em(), { lender, loan, reason: "agreed" }, ENVIRONMENT);
    const request = start({ caseId: theCase.id });
    await importRow(database, lender, { ...BORROWER, sourceLoanNumber: loan, outstandingAmount: 900 });
    expect(await report(request)).toMatchObject({
      kind: "not_workable",
      code: "CASE_ENDED",
    });
  });
});

async function unassign(loan: string): Promise<void> {
  expect(await unassignCase(database.em(), { lender, loan, reason: null }, ENVIRONMENT)).toMatchObject({
    kind: "done",
  });
}

async function assignTo(loan: string, to: { id: string }): Promise<void> {
  const order = { lender, loan, reason: null, fieldPartnerId: to.id };
  expect(await assignCase(database.em(), order, ENVIRONMENT)).toMatchObject({ kind: "done" });
}
