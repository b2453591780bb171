import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { anAssignedCase, type AssignedCase } from "../fixtures/assigned-case.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { loanEvents } from "../fixtures/loan-events.ts";

const VISIT = "visit { visitId startCameLate disposition cameOutOfOrder } case { id openPromise { dueOn } }";
const QUEUED = { __typename: "VisitNotFound", code: "VISIT_NOT_FOUND" };
const AMOUNT = { minor: "250000", currency: "INR" };

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let fieldPartnerId: string;
/** The app of the case's previous field partner. `nextApp` is the app of its current field partner. */
let app: AppClient;
let nextApp: AppClient;
let nextId: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  const [before, after] = await Promise.all([aFieldPartner(service), aFieldPartner(service)]);
  [fieldPartnerId, nextId] = [before.id, after.id];
  app = new AppClient(service.url, before.accessToken);
  nextApp = new AppClient(service.url, after.accessToken);
});

describe("a visit that is reported after its case was assigned to another field partner", () => {
  test("is recorded and can put the case on hold, but gives the previous field partner neither the case nor a link", async () => {
    const { caseId, loan } = await aCase();
    const visitId = randomUUID();
    const occurredAt = hourAgo();
    const end = { idempotencyKey: randomUUID(), visitId, disposition: "DISPUTE", occurredAt };
    const linkRequest = { idempotencyKey: randomUUID(), visitId, amount: AMOUNT };
    await assign(service, lender.code, loan, nextId);
    expect(await app.mutate("completeVisit", end, VISIT)).toMatchObject(QUEUED);
    expect(await app.mutate("requestPaymentLink", linkRequest, "paymentLink { id }")).toMatchObject(QUEUED);
    const visit = { visitId, disposition: "DISPUTE", startCameLate: true, cameOutOfOrder: true };
    expect(await app.mutate("startVisit", { visitId, caseId, occurredAt }, VISIT)).toMatchObject({ visit, case: null });
    expect(await app.mutate("completeVisit", end, VISIT)).toMatchObject({ visit, case: null });
    expect(await app.mutate("requestPaymentLink", linkRequest, "paymentLink { id }")).toMatchObject({
      __typename: "CaseNotWorkable",
    });
    const query = "query ($id: ID!) { case(id: $id) { status visits { edges { node { visitId isMine } } } } }";
    expect((await app.ask(query, { id: caseId })).data).toEqual({ case: null });
    expect((await nextApp.ask(query, { id: caseId })).data).toEqual({
      case: { status: "ON_HOLD", visits: { edges: [{ node: { visitId, isMine: false } }] } },
    });
    const expectedKinds = ["case.unassigned", "case.assigned", "visit.started", "visit.completed", "case.held"];
    expect((await kindsOf(loan)).slice(2)).toEqual(expectedKinds);
  });

  test("does not replace the promise of a later visit", async () => {
    const { caseId, loan } = await aCase();
    await assign(service, lender.code, loan, nextId);
    await promiseAtVisit(nextApp, { caseId, occurredAt: new Date().toISOString(), dueOn: "2100-01-02" });
    await promiseAtVisit(app, { caseId, occurredAt: hourAgo(), dueOn: "2100-01-09" });
    const { data } = await nextApp.ask("query ($id: ID!) { case(id: $id) { openPromise { dueOn } } }", { id: caseId });
    expect(data).toEqual({ case: { openPromise: { dueOn: "2100-01-02" } } });
  });

  test("is rejected as if the case were unknown, if the visit began after the reassignment", async () => {
    const { caseId, loan } = await aCase();
    await assign(service, lender.code, loan, nextId);
    const begun = { visitId: randomUUID(), occurredAt: new Date(Date.now() + 1_000).toISOString() };
    const nobodys = Buffer.from(`Case:${randomUUID()}`).toString("base64url");
    const refusal = await app.mutate("startVisit", { ...begun, caseId: nobodys }, VISIT);
    expect(refusal).toMatchObject({ __typename: "CaseNotFound" });
    expect(await app.mutate("startVisit", { ...begun, caseId }, VISIT)).toEqual(refusal);
    expect((await kindsOf(loan)).slice(2)).toEqual(["case.unassigned", "case.assigned"]);
  });
});

async function promiseAtVisit(
  as: AppClient,
  given: { caseId: string; occurredAt: string; dueOn: string },
): Promise<void> {
  const { caseId, occurredAt, dueOn } = given;
  const visit = { visitId: randomUUID(), occurredAt };
  expect(await as.mutate("startVisit", { ...visit, caseId }, VISIT)).toMatchObject({ __typename: "StartVisitPayload" });
  const end = { ...visit, disposition: "PROMISE_TO_PAY", promise: { amount: AMOUNT, dueOn } };
  expect(await as.mutate("completeVisit", end, VISIT)).toMatchObject({ __typename: "CompleteVisitPayload" });
}

function aCase(): Promise<AssignedCase> {
  return anAssignedCase(service, lender, fieldPartnerId);
}

function hourAgo(): string {
  return new Date(Date.now() - 3_600_000).toISOString();
}

async function kindsOf(loan: string): Promise<string[]> {
  return (await loanEvents(service, lender.code, loan)).map(({ kind }) => kind);
}
